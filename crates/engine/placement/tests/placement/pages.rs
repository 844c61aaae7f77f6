//! Logs of pages.

use fanin_placement::Object;

use crate::generate::{Draws, Zipfian, distinct};

/// Pages of objects requested together.
pub struct Pages {
    pages: Vec<Vec<Object>>,
    popular: Zipfian,
    objects: Zipfian,
    replaced: usize,
}

impl Pages {
    /// Pages of this many objects, drawn from the same number; a query replaces some by independent ones.
    pub fn new(objects: u32, pages: u32, a_page: usize, replaced: usize, draws: &mut Draws) -> Pages {
        let page = |_| distinct(a_page, || draws.below(objects));
        Pages {
            pages: (0..pages).map(page).collect(),
            popular: Zipfian::new(pages),
            objects: Zipfian::new(objects),
            replaced,
        }
    }

    /// A query for a page.
    pub fn query(&self, draws: &mut Draws) -> Vec<Object> {
        let mut query = self.pages[self.popular.draw(draws) as usize].clone();
        for place in 0..self.replaced {
            let other = place + draws.below((query.len() - place) as u32) as usize;
            query.swap(place, other);
            query[place] = Object(self.objects.draw(draws));
        }
        query
    }
}
