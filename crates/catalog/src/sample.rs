//! The samples of a file's families are its tests: they are run whenever it is loaded.
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::Meaning;
use triage_toml::Spanned;

use crate::error::Problem;
use crate::file::{Family, File, Sample};

/// What is wrong with the samples of `file`, run against the whole catalogue.
pub(crate) fn problems<'a>(
    file: &'a File,
    catalog: &'a Catalog,
) -> impl Iterator<Item = (usize, Problem)> + 'a {
    let families = file.family.iter().map(AsRef::as_ref);
    families
        .flat_map(move |family| family.sample.iter().filter_map(|sample| problem(family, sample, catalog)))
}

fn problem(family: &Family, sample: &Spanned<Sample>, catalog: &Catalog) -> Option<(usize, Problem)> {
    let found = catalog.families().iter().find(|f| f.id == family.id.as_str())?;
    let origin = found.sources.first().copied().unwrap_or(Origin::Kernel);
    let meaning = catalog.read(origin, sample.as_ref().line.as_bytes());
    let problem = compare(sample.as_ref(), &family.id, meaning.as_ref()).err()?;
    Some((sample.span().start, problem))
}

fn compare(sample: &Sample, family: &str, meaning: Option<&Meaning>) -> Result<(), Problem> {
    let Some(meaning) = meaning.filter(|meaning| meaning.family == family) else {
        let found = meaning.map_or_else(|| "nothing".to_owned(), |m| format!("\"{}\"", m.family));
        return Err(Problem::Unrecognised { family: family.to_owned(), found });
    };
    let field = |name: &String| meaning.fields.get(name).cloned().unwrap_or_default();
    let mut pairs = vec![("code".to_owned(), Some(sample.code.clone()), meaning.code.to_string())];
    pairs.push(("resource".to_owned(), sample.resource.clone(), meaning.resource.to_string()));
    pairs.push(("class".to_owned(), sample.class.map(|w| w.to_string()), meaning.class.to_string()));
    pairs.push(("role".to_owned(), sample.role.map(|w| w.to_string()), meaning.role.to_string()));
    pairs.push(("action".to_owned(), sample.action.map(|w| w.to_string()), meaning.action.to_string()));
    pairs.extend(
        sample.fields.iter().map(|(name, value)| (format!("field {name}"), Some(value.clone()), field(name))),
    );
    for (what, expected, found) in pairs {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(Problem::SampleDiffers { what, expected, found });
        }
    }
    Ok(())
}
