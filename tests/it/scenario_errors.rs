use retrycast::scenario::{Scenario, Source, load};

fn shipped(path: &str, variant: Option<&str>) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap();
    let source = Source { variant, ..Source::new(path, &text) };
    load(&source).unwrap_or_else(|refusal| panic!("{path}: {refusal:#?}"))
}

#[test]
fn every_variant_of_every_shipped_scenario_is_accepted() {
    for entry in std::fs::read_dir("scenarios").unwrap() {
        let path = entry.unwrap().path();
        let path = path.to_str().unwrap();
        for variant in shipped(path, None).variants {
            let s = shipped(path, Some(&variant));
            if std::env::var("SHOW").is_ok() { println!("{s:#?}"); }
        }
    }
}
