//! A mistake of the user: it names the thing, the value and what is allowed, and the nearest thing
//! that would have been right.

/// A mistake in a configuration, found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct ConfigError {
    /// The thing that is wrong.
    pub key: String,
    /// What was given, if anything.
    pub value: Option<String>,
    /// What is allowed.
    pub allowed: String,
    /// The nearest thing that would have been right.
    pub nearest: Option<Box<str>>,
    /// Whether a drive's file is wrong; else what is said beside it, or where there is none.
    pub of_file: bool,
}

impl ConfigError {
    /// `key` has a value that is not allowed.
    pub fn value(key: &str, value: &str, allowed: &str) -> ConfigError {
        ConfigError {
            key: key.to_owned(),
            value: Some(value.to_owned()),
            allowed: allowed.to_owned(),
            nearest: None,
            of_file: false,
        }
    }

    /// There is no such `kind` as `name`.
    pub fn unknown(kind: &str, name: &str, known: &[&str]) -> ConfigError {
        let allowed = match known {
            [] => "there are none".to_owned(),
            _ => format!("one of {}", known.join(", ")),
        };
        ConfigError {
            key: format!("unknown {kind} `{name}`"),
            value: None,
            allowed,
            nearest: nearest(name, known),
            of_file: false,
        }
    }

    /// The same with the value that came with the key.
    pub fn with_value(mut self, value: &str) -> ConfigError {
        self.value = Some(value.to_owned());
        self
    }

    /// The same as a mistake of a drive's file.
    pub fn of_file(self) -> ConfigError {
        ConfigError {
            of_file: true,
            ..self
        }
    }

    fn text(&self) -> String {
        let mut text = self.key.clone();
        if let Some(value) = &self.value {
            text += &format!(" = {value}");
        }
        if let Some(nearest) = &self.nearest {
            text += &format!("; did you mean `{nearest}`?");
        }
        text + &format!(" (allowed: {})", self.allowed)
    }
}

/// Why a part cannot be built, which may be a setting of it.
pub trait Refused {
    /// The setting, if it is one.
    fn setting(&mut self) -> Option<&mut ConfigError>;
}

impl Refused for ConfigError {
    fn setting(&mut self) -> Option<&mut ConfigError> {
        Some(self)
    }
}

/// The known name nearest to a mistyped one, if any is near.
pub fn nearest(name: &str, known: &[&str]) -> Option<Box<str>> {
    let scored = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(name, k), *k));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    // In a short name two letters are most of it.
    let near = distance <= 1.max(name.len() / 3) || best.starts_with(name);
    near.then(|| best.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_unlike_all_suggests_none() {
        let known = ["look", "fio", "satf", "fcfs"];
        let near = |name: &str| nearest(name, &known);
        assert_eq!(near("foo").as_deref(), Some("fio"));
        assert_eq!(nearest("foo", &["look", "satf"]), None);
        assert_eq!(near("saft").as_deref(), Some("satf"));
        assert_eq!(near("lo").as_deref(), Some("look"));
    }
}
