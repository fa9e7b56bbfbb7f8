//! Puts what a file says over what is there.
use std::borrow::Cow;

use triage_core::catalog::{Entry, Family, Parts, Pattern, Scope, Table, Text, Variant};
use triage_core::{ClearedBy, Confidence};
use triage_toml::Spanned;

use crate::error::Problem;
use crate::file::{self, Defaults, File};

/// A problem and the byte of the file where it is.
pub(crate) type Result<T> = std::result::Result<T, (usize, Problem)>;

/// Puts the codes of `file` over `parts`. The table itself stays: what a file changes goes beside it.
pub(crate) fn codes(file: &File, parts: &mut Parts) -> Result<()> {
    file.code.iter().try_for_each(|stanza| merge_code(stanza, &file.defaults, parts))
}

/// Puts the families of `file` in front of those of `parts`, in their order.
pub(crate) fn families(file: &File, parts: &mut Parts) -> Result<()> {
    file.family.iter().rev().try_for_each(|stanza| merge_family(stanza, parts))
}

fn merge_code(spanned: &Spanned<file::Code>, defaults: &Defaults, parts: &mut Parts) -> Result<()> {
    let at = spanned.span().start;
    let stanza = spanned.as_ref();
    let old = parts.site.get(&stanza.code).cloned().or_else(|| parts.table.get(&stanza.code));
    let entry = match old {
        Some(_) if no_reason(stanza.reason.as_deref()) => {
            return Err((at, Problem::NoReason(stanza.code.clone())));
        }
        Some(old) => changed(old, stanza),
        None => new(stanza, defaults).map_err(|problem| (at, problem))?,
    };
    no_control_characters(&entry).map_err(|problem| (at, problem))?;
    if let Some(when) = &stanza.when {
        replace_variants(&stanza.code, when, parts)?;
    }
    parts.site.insert(stanza.code.clone(), entry);
    Ok(())
}

fn no_reason(reason: Option<&str>) -> bool {
    reason.is_none_or(|reason| reason.trim().is_empty())
}

fn changed(old: Entry, s: &file::Code) -> Entry {
    let text = |new: &Option<String>, old: Text| new.clone().map_or(old, Cow::Owned);
    Entry {
        name: text(&s.name, old.name),
        fault: text(&s.fault, old.fault),
        class: s.class.unwrap_or(old.class),
        role: s.role.unwrap_or(old.role),
        scope: s.scope.unwrap_or(old.scope),
        action: s.action.unwrap_or(old.action),
        confidence: s.confidence.unwrap_or(old.confidence),
        clears: s.clears.unwrap_or(old.clears),
        description: text(&s.description, old.description),
        response: text(&s.response, old.response),
        impact: text(&s.impact, old.impact),
        remedy: text(&s.remedy, old.remedy),
        source: text(&s.source, old.source),
        reason: text(&s.reason, old.reason),
        code: old.code,
    }
}

/// A new entry must say what it is; what follows from that has defaults.
fn new(s: &file::Code, defaults: &Defaults) -> std::result::Result<Entry, Problem> {
    let source = s.source.as_ref().or(defaults.source.as_ref());
    let (Some(name), Some(class), Some(role), Some(action), Some(description), Some(remedy), Some(source)) =
        (&s.name, s.class, s.role, s.action, &s.description, &s.remedy, source)
    else {
        let keys = [
            ("name", s.name.is_none()),
            ("class", s.class.is_none()),
            ("role", s.role.is_none()),
            ("action", s.action.is_none()),
            ("description", s.description.is_none()),
            ("remedy", s.remedy.is_none()),
            ("source", source.is_none()),
        ];
        return Err(missing(&s.code, &keys));
    };
    let owned = |text: &Option<String>| Cow::Owned(text.clone().unwrap_or_default());
    let clears = if action.wants_node_out() { ClearedBy::Ack } else { ClearedBy::None };
    Ok(Entry {
        code: s.code.clone().into(),
        name: name.clone().into(),
        fault: s.fault.clone().unwrap_or_else(|| s.code.clone()).into(),
        class,
        role,
        scope: s.scope.unwrap_or(Scope::Node),
        action,
        confidence: s.confidence.unwrap_or(Confidence::Suspected),
        clears: s.clears.unwrap_or(clears),
        description: description.clone().into(),
        response: owned(&s.response),
        impact: owned(&s.impact),
        remedy: remedy.clone().into(),
        source: source.clone().into(),
        reason: owned(&s.reason),
    })
}

fn missing(name: &str, keys: &[(&str, bool)]) -> Problem {
    let absent: Vec<&str> = keys.iter().filter(|(_, absent)| *absent).map(|(key, _)| *key).collect();
    Problem::Missing { name: name.to_owned(), missing: absent.join(", ") }
}

fn no_control_characters(entry: &Entry) -> std::result::Result<(), Problem> {
    let texts = [
        &entry.code,
        &entry.name,
        &entry.fault,
        &entry.description,
        &entry.response,
        &entry.impact,
        &entry.remedy,
        &entry.source,
        &entry.reason,
    ];
    match texts.into_iter().find(|text| text.chars().any(char::is_control)) {
        Some(text) => Err(Problem::ControlCharacter(text.escape_debug().take(60).collect())),
        None => Ok(()),
    }
}

fn merge_family(spanned: &Spanned<file::Family>, parts: &mut Parts) -> Result<()> {
    let at = spanned.span().start;
    let s = spanned.as_ref();
    let old = parts.families.change(|families| {
        let index = families.iter().position(|family| family.id == s.id.as_str())?;
        Some(families.remove(index))
    });
    if old.is_some() && no_reason(s.reason.as_deref()) {
        return Err((at, Problem::NoReason(s.id.clone())));
    }
    if s.enabled == Some(false) {
        return Ok(());
    }
    // Samples prove a pattern: who writes one writes the other.
    if s.sample.is_empty() && (s.pattern.is_some() || old.is_none()) {
        return Err((at, Problem::NoSample(s.id.clone())));
    }
    let family = match old {
        Some(old) => changed_family(old, s)?,
        None => new_family(s, at)?,
    };
    check_entry(&family, parts).map_err(|problem| (at, problem))?;
    if let Some(when) = &s.when {
        replace_variants(&format!("@{}", s.id), when, parts)?;
    }
    parts.site_tags.extend(family.tags.iter().cloned());
    parts.families.change(|families| families.insert(0, family));
    Ok(())
}

fn changed_family(old: Family, s: &file::Family) -> Result<Family> {
    Ok(Family {
        sources: s.sources.clone().map_or(old.sources, Cow::Owned),
        tags: s.tags.as_deref().map(tags).transpose()?.map_or(old.tags, Cow::Owned),
        needs: s.needs.as_deref().map(owned).map_or(old.needs, Cow::Owned),
        pattern: s.pattern.as_ref().map(compile).transpose()?.unwrap_or(old.pattern),
        code: s.code.clone().map_or(old.code, Cow::Owned),
        otherwise: s.otherwise.clone().map_or(old.otherwise, Cow::Owned),
        resource: s.resource.as_deref().map(owned).map_or(old.resource, Cow::Owned),
        decode: s.decode.or(old.decode),
        id: old.id,
    })
}

fn new_family(s: &file::Family, at: usize) -> Result<Family> {
    let (Some(sources), Some(tag), Some(pattern), Some(code)) = (&s.sources, &s.tags, &s.pattern, &s.code)
    else {
        let keys = [
            ("sources", s.sources.is_none()),
            ("tags", s.tags.is_none()),
            ("pattern", s.pattern.is_none()),
            ("code", s.code.is_none()),
        ];
        return Err((at, missing(&s.id, &keys)));
    };
    Ok(Family {
        id: s.id.clone().into(),
        sources: sources.clone().into(),
        tags: tags(tag)?.into(),
        needs: s.needs.as_deref().map(owned).unwrap_or_default().into(),
        pattern: compile(pattern)?,
        code: code.clone().into(),
        otherwise: s.otherwise.clone().unwrap_or_default().into(),
        resource: s.resource.as_deref().map(owned).unwrap_or_default().into(),
        decode: s.decode,
    })
}

fn owned(texts: &[String]) -> Vec<Text> {
    texts.iter().cloned().map(Cow::Owned).collect()
}

fn tags(tags: &[Spanned<String>]) -> Result<Vec<Text>> {
    let one = |tag: &Spanned<String>| match tag.as_ref().len() {
        0..crate::SHORTEST_TAG => Err((tag.span().start, Problem::ShortTag(tag.as_ref().clone()))),
        _ => Ok(Cow::Owned(tag.as_ref().clone())),
    };
    tags.iter().map(one).collect()
}

fn compile(pattern: &Spanned<String>) -> Result<Pattern> {
    let explained = |e: &dyn std::error::Error| Problem::Pattern(e.to_string().replace('\n', " "));
    Pattern::compile(pattern.as_ref().clone()).map_err(|e| (pattern.span().start, explained(&e)))
}

/// A fixed code needs an entry; a built one an entry to fall back on, or none: then unknown codes mean nothing.
fn check_entry(family: &Family, parts: &Parts) -> std::result::Result<(), Problem> {
    let fixed = if family.code.contains('{') { &family.otherwise } else { &family.code };
    let known = |code: &str| parts.site.contains_key(code) || Table::get(parts.table, code).is_some();
    if fixed.is_empty() || known(fixed) {
        return Ok(());
    }
    Err(Problem::NoEntry { family: family.id.to_string(), code: fixed.to_string() })
}

fn replace_variants(owner: &str, when: &[file::When], parts: &mut Parts) -> Result<()> {
    let one = |stanza: &file::When| {
        Ok(Variant {
            owner: Cow::Owned(owner.to_owned()),
            pattern: compile(&stanza.text)?,
            change: stanza.change(),
            note: Cow::Owned(stanza.note.clone()),
        })
    };
    let new = when.iter().map(one).collect::<Result<Vec<Variant>>>()?;
    parts.variants.change(|variants| {
        variants.retain(|variant| variant.owner != owner);
        variants.extend(new);
    });
    Ok(())
}
