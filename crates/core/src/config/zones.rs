//! What may lie above a drive with zones, which takes writes in order alone.

use super::StackConfig;
use crate::contract::{Blueprint, Destage, Placement, ZONES};
use crate::registry::{ConfigError, Kind, Of};

/// Whether the parts above a drive keep to its zones, if it has some. Told before anything is built
/// that takes long.
///
/// # Errors
/// Which part does not.
pub(super) fn check(config: &StackConfig, blueprint: &dyn Blueprint) -> Result<(), ConfigError> {
    if blueprint.zones().is_none() {
        return Ok(());
    }
    let place = &config.parts.of::<dyn Placement>().name;
    if !Of::<dyn Placement>::KIND.find(place)?.asks.contains(&ZONES) {
        let allowed = "linear over a drive with zones: all others write in an order of their own, and zones are written from their begin to their end";
        let key = <dyn Placement as Kind>::CARD.key;
        return Err(ConfigError::value(key, place, allowed));
    }
    if let Some((name, _)) = config.in_buffer()? {
        let allowed = "none over a drive with zones: a write buffer gives back what it has in an order of its own, and zones are written \
                       from their begin to their end";
        let key = <dyn Destage as Kind>::CARD.key;
        return Err(ConfigError::value(key, &name, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DriveConfig;
    use crate::drive;

    fn config(drive: &str) -> StackConfig {
        let drive = DriveConfig {
            part: drive.parse().unwrap(),
            text: drive::catalog_text("hp-c2247a").unwrap().to_owned(),
        };
        StackConfig::over(drive, 1)
    }

    #[test]
    fn what_does_not_keep_to_zones_is_refused_over_them() {
        let zoned = || config("hp-c2247a:zone_blocks=4096");
        let wrong = |config: StackConfig| {
            let errors = [config.check().err(), config.build().err()];
            errors.map(|error| error.unwrap().to_string())
        };
        for place in ["mirror", "raid5", "eager", "stripe", "concat"] {
            let config = zoned().with::<dyn Placement>(place.parse().unwrap());
            for error in wrong(config) {
                assert!(error.contains(&format!("place = {place}")), "{error}");
                assert!(error.contains("linear over a drive with zones"), "{error}");
            }
        }
        let buffer = "lrw:size=1MiB".parse().unwrap();
        for error in wrong(zoned().with::<dyn Destage>(buffer)) {
            assert!(error.contains("buffer = lrw"), "{error}");
        }
        assert!(zoned().build().is_ok());
        let mirror = config("hp-c2247a").with::<dyn Placement>("mirror".parse().unwrap());
        assert!(mirror.build().is_ok());
    }

    #[test]
    fn zones_are_named_where_there_are_some() {
        let named = |drive: &str| {
            let built = config(drive).build().unwrap();
            let knobs = built.effective.drive.part.knobs;
            let of_zones = knobs.into_iter().filter(|(key, _)| key.contains("zone"));
            of_zones
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("hp-c2247a"), [""; 0]);
        let told = [
            "zone_blocks=4096",
            "zone_capacity_blocks=0",
            "zone_reset_ms=1",
        ];
        assert_eq!(named("hp-c2247a:zone_blocks=4096"), told);
    }
}
