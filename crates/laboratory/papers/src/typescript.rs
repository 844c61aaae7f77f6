//! TypeScript types of the pages' data: generates `web/src/data.ts` from the Rust structs.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use ts_rs::{Config, TS, TypeVisitor};

    use fanin_report::Report;

    use crate::ScorecardData;

    /// The declarations of a type and of its parts, by name.
    struct Declarations {
        config: Config,
        found: BTreeMap<String, String>,
    }

    impl TypeVisitor for Declarations {
        fn visit<T: TS + 'static + ?Sized>(&mut self) {
            // Numbers and lists are built into TypeScript.
            if T::output_path().is_none() {
                return;
            }
            let name = T::ident(&self.config);
            if !self.found.contains_key(&name) {
                let docs = T::docs().map_or(String::new(), |docs| short(&docs) + "\n");
                let fields = short(&T::decl(&self.config)).replace('\n', "\n  ");
                self.found.insert(name, format!("{docs}export {fields}\n"));
                T::visit_dependencies(self);
            }
        }
    }

    /// Puts doc comments of one line on one line.
    fn short(text: &str) -> String {
        let text = text.replace("/**\n * ", "/** ").replace("\n */", " */");
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the one switch between checking what is generated and writing it")]
    fn typescript_types_match_the_structs() {
        let mut all = Declarations { config: Config::new().with_large_int("number"), found: BTreeMap::new() };
        all.visit::<Report>();
        all.visit::<ScorecardData>();
        let declared: Vec<String> = all.found.into_values().collect();
        let head = "// Types of the pages' JSON. Made from crates/laboratory/lab, report and papers by `make docs`: change the structs there.\n\n";
        let made = head.to_string() + &declared.join("\n");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../web/src/data.ts");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(path, &made).unwrap();
        }
        assert!(
            fs::read_to_string(path).unwrap() == made,
            "web/src/data.ts is not current: `make docs` writes it anew"
        );
    }
}
