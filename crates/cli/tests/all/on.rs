//! `--on`: which Python code runs.

use std::fs;
use std::process::Command;

use crate::common::{Place, SMALL, err};

#[test]
fn runs_no_module_of_the_current_folder() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: there is no python3 here");
        return;
    }
    let place = Place::with(SMALL);
    let ran = place.path("ran");
    let module = format!("open({:?}, 'w').close()\n", ran.display().to_string());
    fs::create_dir(place.path("fanin")).unwrap();
    for name in ["fanin/__init__.py", "fanin/bridge.py", "distributed.py", "struct.py", "sitecustomize.py"] {
        fs::write(place.path(name), &module).unwrap();
    }
    for (variable, value) in [("LANG", "C"), ("PYTHONPATH", ""), ("PYTHONPATH", ":/nowhere"), ("PYTHONPATH", ".")] {
        let mut command = place.command(&["compare", "my.toml", "--on", "tcp://127.0.0.1:9", "--no-cache"]);
        let output = command.env(variable, value).output().unwrap();
        assert!(!ran.exists(), "{variable}={value}: a planted module was run");
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    }
}
