//! Enumerations that are words: on the command line, in TOML and in results alike.

/// Declares an enum whose values are words, with parsing that suggests the nearest. `as` gives the
/// name that users know it by.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident $(as $spoken:literal)? { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// All words.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word for it.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = nearslot_core::registry::ConfigError;

            fn from_str(word: &str) -> Result<$name, Self::Err> {
                let spoken: &[&str] = &[$($spoken)?];
                let kind = spoken.first().map_or_else(|| stringify!($name).to_lowercase(), |kind| (*kind).to_owned());
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err(nearslot_core::registry::ConfigError::unknown(&kind, word, $name::WORDS)),
                }
            }
        }
    };
}
