//! Every picture that `docs/gallery.md` and `docs/failing_guards.md` show is what the program draws today. They are renewed by
//! `SNAPSHOTS=overwrite cargo test --test it gallery`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use retrycast::experiment::{self, Terms};
use retrycast::plot::{self, Form, Setting, Theme, Words};
use retrycast::random::Seed;
use retrycast::report::{Subject, finding::finding};

use super::stage::shipped;

const FOLDER: &str = "outputs/gallery";
const PAGES: [&str; 2] = ["docs/gallery.md", "docs/failing_guards.md"];

/// The pictures of a page, by name: `SCENARIO-VARIANT`.
fn shown_by(page: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(page).unwrap();
    let names =
        page.split("../outputs/gallery/").skip(1).filter_map(|rest| Some(rest.split_once(".svg")?.0.to_owned()));
    names.collect()
}

/// The pictures of all pages.
fn shown() -> BTreeSet<String> {
    PAGES.into_iter().flat_map(shown_by).collect()
}

/// The timeline of a scenario and variant, as `run` writes it.
fn drawn(name: &str) -> String {
    let (stem, variant) = name.rsplit_once('-').unwrap_or_else(|| panic!("`{name}` names no variant"));
    let scenario = shipped(stem, variant, &[]);
    let never = AtomicBool::new(false);
    let result = experiment::run(&scenario, Seed(1), None, None, Terms::new(&never)).unwrap();
    let words = Words {
        title: finding(&Subject::new(&scenario, &result)),
        command: format!("retrycast run scenarios/{stem}.toml --variant {variant} --seed 1"),
    };
    plot::timeline(&result, &scenario, &Theme::LIGHT, &words, &Form::WIDE).svg(Setting::File)
}

#[test]
fn the_pictures_of_the_gallery_are_what_the_program_draws() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let renew = std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite");
    let mut stale = Vec::new();
    for name in shown() {
        let (path, picture) = (root.join(format!("{name}.svg")), drawn(&name));
        if renew {
            std::fs::write(&path, &picture).unwrap();
        }
        if !std::fs::read_to_string(&path).is_ok_and(|stored| stored == picture) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "not today's, renew them with SNAPSHOTS=overwrite: {stale:?}");
}

#[test]
fn every_stored_picture_is_shown_and_the_loop_of_its_page_draws_them_all() {
    let files = std::fs::read_dir(Path::new(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let stored: BTreeSet<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(stored, shown());
    for name in PAGES {
        let page = std::fs::read_to_string(name).unwrap();
        let (_, rest) = page.split_once("for picture in").expect("the page has a loop");
        let (list, _) = rest.split_once("; do").expect("the loop has a body");
        let listed: BTreeSet<String> =
            list.split_whitespace().filter(|word| *word != "\\").map(str::to_owned).collect();
        assert_eq!(listed, shown_by(name), "{name}");
    }
}
