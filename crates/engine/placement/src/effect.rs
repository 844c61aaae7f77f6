//! Number of servers per query.

use crate::{Object, Placement, Server};

/// Chooses the servers of a query; clears and fills `servers`. For each moved object it prefers a replica on a server that the query
/// contacts anyway, else any, drawn by `draw`. Objects without a choice come first.
pub fn ask(
    query: &[Object],
    placement: &Placement,
    moved: &[bool],
    draw: &mut dyn FnMut(u32) -> u32,
    servers: &mut Vec<Server>,
) {
    servers.clear();
    for of_moved in [false, true] {
        for object in query.iter().filter(|object| moved[object.0 as usize] == of_moved) {
            let homes = placement.homes(*object);
            let known = homes.iter().find(|home| of_moved && servers.contains(home));
            let server = *known.unwrap_or_else(|| &homes[draw(homes.len() as u32) as usize]);
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_objects_use_contacted_servers() {
        let homes = [1, 2, 5, 2, 7, 3].map(Server);
        let placement = Placement::new(2, homes.to_vec());
        let query = [Object(0), Object(1), Object(2)];
        let mut servers = Vec::new();
        let mut asked = |moved: [bool; 3]| {
            ask(&query, &placement, &moved, &mut |_| 0, &mut servers);
            servers.iter().map(|server| server.0).collect::<Vec<_>>()
        };
        assert_eq!(asked([false; 3]), [1, 5, 7], "the first replica of each, as drawn");
        assert_eq!(asked([true, true, false]), [7, 1, 5]);
        // Object 1 stays on 5; object 0 has no replica there.
        assert_eq!(asked([true, false, false]), [5, 7, 1]);
        let mut second = Vec::new();
        ask(&query, &placement, &[true, true, false], &mut |n| n - 1, &mut second);
        assert_eq!(second, [3, 2].map(Server), "object 0 is asked for at 2, and so is object 1");
    }
}
