//! How many business units of a load like that of SPC-1 a configuration carries.

use super::*;

/// Streams of business units add up to requests at random, of 50 a second each.
#[test]
fn the_business_units_of_a_constant_server_are_those_of_theory() {
    for (slo, truth) in [
        ("mean < 150 us", rate_of_mean(0.15)),
        ("mean < 300 us", rate_of_mean(0.3)),
    ] {
        let base = synthetic("spc1:requests=60000", &[("drive", "null")]);
        assert_eq!(Find::of(&base), Ok(Find::Bsu));
        let capacity = found(&points(&base, &[]), &how(slo, Find::Bsu));
        let holds = capacity.choices[0].holds.unwrap();
        assert!(
            (50.0 * holds / truth - 1.0).abs() < 0.06,
            "{slo}: {holds}, not {}",
            truth / 50.0
        );
        let told = format!("up to {holds} BSUs");
        assert!(capacity.headline.contains(&told), "{}", capacity.headline);
        assert!(capacity.choices[0].config["load"]["bsu"].is_u64());
    }
}
