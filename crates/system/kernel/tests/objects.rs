//! The committed objects belong to the sources beside them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Version of a compiler, or the reason why there is none.
fn version(compiler: &str) -> Result<String, String> {
    let output = Command::new(compiler).arg("--version").output().map_err(|error| format!("no {compiler}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_string())
}

#[test]
fn committed_objects_are_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = fs::read_to_string(here.join("objects/COMPILER")).expect("the compiler's name");
    let lacks = match version("clang-16") {
        Err(why) => Some(why),
        Ok(found) if found != wanted.trim() => {
            Some(format!("clang-16 is {found}, and the objects are {}'s", wanted.trim()))
        }
        Ok(_) => version("llvm-strip-16").err(),
    };
    let headers = Path::new("/usr/include/bpf/bpf_helpers.h").exists();
    if let Some(why) = lacks.or_else(|| (!headers).then(|| "no headers of libbpf".into())) {
        eprintln!("skipped: {why}");
        return;
    }
    let built = tempfile::tempdir().expect("a folder");
    let status = Command::new(here.join("build-objects.sh")).arg(built.path()).status().expect("the script runs");
    assert!(status.success(), "the objects do not build");
    for entry in fs::read_dir(built.path()).expect("objects") {
        let entry = entry.expect("an object");
        let (built, committed) =
            (fs::read(entry.path()).expect("it is there"), fs::read(here.join("objects").join(entry.file_name())));
        let name = entry.file_name();
        assert!(committed.is_ok_and(|bytes| bytes == built), "{}: run `make kernel-objects`", name.display());
    }
}
