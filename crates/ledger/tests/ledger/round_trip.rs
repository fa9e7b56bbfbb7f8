//! Whatever goes in comes out the same.
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use triage_core::*;
use triage_ledger::*;

use crate::support::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        any::<String>(),
        // What text in a database trips over.
        Just("'; DROP TABLE events; --".to_owned()),
        Just("nul\0inside".to_owned()),
        Just("\u{feff}ü\n\t\\\"".to_owned()),
    ]
}

fn stamp() -> impl Strategy<Value = Stamp> {
    any::<i64>().prop_map(Stamp::from_micros)
}

fn hex(digits: usize) -> impl Strategy<Value = String> {
    any::<u64>().prop_map(move |n| format!("{n:016x}")[..digits].to_owned())
}

fn resource() -> impl Strategy<Value = Resource> {
    let known = select(vec!["host", "job", "gpu:3", "gpu:0000:61:00.0", "nic:mlx5_0", "rank:9", "odd"]);
    prop_oneof![known.prop_map(Resource::from), text().prop_map(|text| Resource::from(text.as_str()))]
}

fn run() -> impl Strategy<Value = RunId> {
    let array = proptest::option::of(any::<(u32, u32)>());
    (text(), any::<u32>(), array, proptest::option::of(any::<u32>()), any::<u32>(), stamp()).prop_map(
        |(cluster, job, array, het, restart, start)| RunId {
            cluster,
            job,
            array: array.map(|(job, task)| ArrayId { job, task }),
            het,
            restart,
            start,
        },
    )
}

fn ids() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(hex(16), 0..6)
}

prop_compose! {
    fn an_event()(
        (id, code, at, node, boot) in (hex(16), text(), stamp(), text(), text()),
        (source, stream, cursor) in (select(SourceKind::ALL), text(), any::<u64>()),
        (provenance, synthetic, class, role) in
            (select(Provenance::ALL), any::<bool>(), select(CauseClass::ALL), select(Role::ALL)),
        (advice, confidence, clears) in
            (select(Advice::ALL), select(Confidence::ALL), select(ClearedBy::ALL)),
        (resource, fields, text) in
            (resource(), proptest::collection::btree_map(text(), text(), 0..4), text()),
    ) -> Event {
        Event {
            id: EventId::new(id), code: Code::new(code), at, node: NodeName::new(node), boot: BootId::new(boot),
            source, stream, cursor, provenance, synthetic, class, role, advice, confidence, clears, resource, fields,
            text,
        }
    }
}

prop_compose! {
    fn a_case()(
        (id, fault, code, class, resource) in (hex(8), text(), text(), select(CauseClass::ALL), resource()),
        (node, boot, state, confidence) in
            (text(), text(), select(CaseState::ALL), select(Confidence::ALL)),
        (provenance, synthetic, advice, clears) in
            (select(Provenance::ALL), any::<bool>(), select(Advice::ALL), select(ClearedBy::ALL)),
        (opened_at, last_seen, closed_at) in (stamp(), stamp(), proptest::option::of(stamp())),
        (run, events, why, stood_down) in
            (proptest::option::of(run()), ids(), text(), any::<bool>()),
    ) -> Case {
        Case {
            id: CaseId::new(id), fault, code: Code::new(code), class, resource, part: None, node: NodeName::new(node),
            boot: BootId::new(boot), state, confidence, provenance, synthetic, advice, clears, opened_at, last_seen,
            closed_at, run, events: events.into_iter().map(EventId::new).collect(), why, stood_down,
        }
    }
}

prop_compose! {
    fn a_decision()(
        (id, at, node, run, is_node) in (hex(16), stamp(), text(), run(), any::<bool>()),
        (intent, rule, mode) in (select(triage_core::Intent::ALL), text(), select(Mode::ALL)),
        gates in proptest::collection::vec((text(), any::<bool>(), text()), 0..5),
        (case, verdict, synthetic, why) in
            (proptest::option::of(hex(8)), proptest::option::of(hex(16)), any::<bool>(), text()),
    ) -> Decision {
        Decision {
            id: DecisionId::new(id), at,
            subject: if is_node { Subject::Node(NodeName::new(node)) } else { Subject::Run(run) },
            intent, rule, mode,
            gates: gates.into_iter().map(|(name, passed, why)| Gate { name, passed, why }).collect(),
            case: case.map(CaseId::new), verdict: verdict.map(VerdictId::new), synthetic, why,
        }
    }
}

prop_compose! {
    fn evidence()(
        (time, node, code, text) in (proptest::option::of(stamp()), proptest::option::of(text()), text(), text()),
        (provenance, event) in (select(Provenance::ALL), proptest::option::of(hex(16))),
    ) -> Evidence {
        Evidence {
            time, node: node.map(NodeName::new), code: Code::new(code), text, provenance,
            event: event.map(EventId::new),
        }
    }
}

prop_compose! {
    fn grounds()(
        (rule, code, resource, trusted) in
            (text(), text(), proptest::option::of(resource()), any::<bool>()),
        told in proptest::collection::vec(evidence(), 0..3),
        discounted in proptest::collection::vec((evidence(), any::<u64>(), text()), 0..3),
        blind in proptest::collection::vec(text(), 0..3),
    ) -> Grounds {
        let aside = |(evidence, count, why)| Discounted { evidence, count, why };
        Grounds {
            rule, code: Code::new(code), resource, trusted, told,
            discounted: discounted.into_iter().map(aside).collect(), blind,
        }
    }
}

prop_compose! {
    fn a_verdict()(
        (id, run, at, class, confidence) in
            (hex(16), run(), stamp(), select(CauseClass::ALL), select(Confidence::ALL)),
        culprits in proptest::collection::vec((text(), proptest::option::of(resource())), 0..4),
        (victims, cases, evidence) in
            (proptest::collection::vec(text(), 0..4), ids(), ids()),
        (synthetic, story) in (any::<bool>(), proptest::collection::vec(text(), 0..4)),
        grounds in grounds(),
    ) -> Verdict {
        Verdict {
            id: VerdictId::new(id), run, at, class, confidence,
            culprits: culprits
                .into_iter()
                .map(|(node, resource)| Culprit { node: NodeName::new(node), resource })
                .collect(),
            victims: victims.into_iter().map(NodeName::new).collect(),
            cases: cases.into_iter().map(CaseId::new).collect(),
            evidence: evidence.into_iter().map(EventId::new).collect(),
            synthetic, story, grounds,
        }
    }
}

prop_compose! {
    fn a_span()(
        (run, node, boot, uid, user) in (run(), text(), text(), any::<u32>(), text()),
        (partition, nodes, gpus) in
            (text(), proptest::collection::vec(text(), 0..4), proptest::collection::vec(any::<u32>(), 0..9)),
        (ask, end, state) in (select(JobAsk::ALL), proptest::option::of(stamp()), text()),
        exit in proptest::option::of(prop_oneof![
            any::<i32>().prop_map(ExitStatus::Exit),
            any::<i32>().prop_map(ExitStatus::Signal),
        ]),
    ) -> JobSpan {
        JobSpan {
            run, node: NodeName::new(node), boot: BootId::new(boot), uid, user, partition,
            nodes: nodes.into_iter().map(NodeName::new).collect(), gpus, ask, end, exit, state,
        }
    }
}

fn an_action() -> impl Strategy<Value = Action> {
    let decision = || hex(16).prop_map(DecisionId::new);
    let node = || text().prop_map(NodeName::new);
    let case = || hex(8).prop_map(CaseId::new);
    prop_oneof![
        (node(), text(), case(), decision()).prop_map(|(node, reason, case, decision)| Action::Drain {
            node,
            reason,
            case,
            decision
        }),
        (node(), case(), any::<bool>(), decision())
            .prop_map(|(node, case, from_down, decision)| Action::Resume { from_down, node, case, decision }),
        (node(), case(), decision()).prop_map(|(node, case, decision)| Action::Down {
            node,
            case,
            limits: Vec::new(),
            decision
        }),
        (run(), proptest::collection::vec(node(), 0..4), any::<bool>(), decision()).prop_map(
            |(run, exclude, hold, decision)| Action::Requeue {
                run,
                exclude,
                hold,
                progress: Default::default(),
                decision
            }
        ),
        (run(), decision()).prop_map(|(run, decision)| Action::ClearBeginTime {
            run,
            not_before: None,
            decision
        }),
        (node(), text(), decision()).prop_map(|(node, body, decision)| Action::Publish {
            node,
            body,
            decision
        }),
        (run(), case(), decision()).prop_map(|(run, case, decision)| Action::RefuseJob {
            run,
            case,
            decision
        }),
    ]
}

/// A ledger that holds just what `fill` adds to an empty batch.
fn ledger_with(fill: impl for<'a> FnOnce(Batch<'a>, &mut dyn FnMut(&Batch<'_>))) -> (Place, Ledger) {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (NodeName::from("n"), BootId::from("b"));
    let mut record = |batch: &Batch<'_>| {
        assert!(matches!(ledger.record(batch).unwrap(), Recorded::Committed { .. }));
    };
    fill(Batch::new(Stamp::from_micros(0), &node, &boot, "test"), &mut record);
    (place, ledger)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_event_comes_out_as_it_went_in(event in an_event()) {
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { events: std::slice::from_ref(&event), ..batch });
        });
        prop_assert_eq!(ledger.events(&Filter::default()).unwrap(), [event]);
    }

    #[test]
    fn a_case_comes_out_as_it_went_in(case in a_case()) {
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { cases: std::slice::from_ref(&case), ..batch });
        });
        prop_assert_eq!(ledger.cases(&Filter::default()).unwrap(), [case]);
    }

    #[test]
    fn a_decision_comes_out_as_it_went_in(decision in a_decision()) {
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { decisions: std::slice::from_ref(&decision), ..batch });
        });
        prop_assert_eq!(ledger.decisions(&Filter::default()).unwrap(), [decision]);
    }

    #[test]
    fn a_verdict_comes_out_as_it_went_in(verdict in a_verdict()) {
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { verdicts: std::slice::from_ref(&verdict), ..batch });
        });
        prop_assert_eq!(ledger.verdicts(&Filter::default()).unwrap(), [verdict]);
    }

    #[test]
    fn a_span_comes_out_as_it_went_in(mut span in a_span()) {
        // Of this boot, else the first batch of the boot ends it.
        span.boot = BootId::from("b");
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { spans: std::slice::from_ref(&span), ..batch });
        });
        prop_assert_eq!(ledger.span(&span.run).unwrap(), Some(span.clone()));
        prop_assert_eq!(ledger.spans(&Filter::default()).unwrap(), [span]);
    }

    #[test]
    fn an_action_comes_out_as_it_went_in(action in an_action(), synthetic: bool) {
        let intent = NewIntent { action: action.clone(), expires: Stamp::from_secs(60), synthetic };
        let (_place, ledger) = ledger_with(|batch, record| {
            record(&Batch { intents: std::slice::from_ref(&intent), ..batch });
        });
        let rows = ledger.actions(&Filter::default()).unwrap();
        prop_assert_eq!(rows.len(), 1);
        prop_assert_eq!(&rows[0].action, &action);
        prop_assert_eq!(rows[0].synthetic, synthetic);
        prop_assert_eq!(rows[0].state, IntentState::Pending);
    }

    #[test]
    fn no_filter_breaks_a_query(code in text(), node in text(), case in text(), since in stamp(), limit: u32) {
        let (_place, ledger) = ledger_with(|batch, record| record(&batch));
        let filter = Filter {
            since: Some(since),
            until: Some(since),
            node: Some(NodeName::new(node)),
            job: Some(JobFilter { job: limit, task: Some(limit) }),
            run: Some(run_of(limit)),
            case: Some(CaseId::new(case)),
            code: Some(code),
            class: Some(CauseClass::Hardware),
            open_only: true,
            synthetic: Some(true),
            level: Some(Level::Warning),
            limit: Some(limit),
        };
        prop_assert!(ledger.events(&filter).unwrap().is_empty());
        prop_assert!(ledger.cases(&filter).unwrap().is_empty());
        prop_assert!(ledger.spans(&filter).unwrap().is_empty());
        prop_assert!(ledger.decisions(&filter).unwrap().is_empty());
        prop_assert!(ledger.verdicts(&filter).unwrap().is_empty());
        prop_assert!(ledger.actions(&filter).unwrap().is_empty());
        prop_assert!(ledger.audit(&filter).unwrap().is_empty());
    }
}

#[test]
fn fields_are_kept_by_name() {
    let mut event = event(&line(1, "x"), "xid.79");
    event.fields = BTreeMap::from([("a".to_owned(), String::new()), (String::new(), "b".to_owned())]);
    let (_place, ledger) = ledger_with(|batch, record| {
        record(&Batch { events: std::slice::from_ref(&event), ..batch });
    });
    assert_eq!(ledger.events(&Filter::default()).unwrap()[0].fields, event.fields);
}
