import MailRelay
import Terminal

extension StreamReport {
    /// The report as a screen.
    func sheet(explaining: Bool) -> Sheet {
        var sections = [Sheet.Section(.facts(facts))]
        for severity in Finding.Severity.allCases.reversed() {
            let matching = findings.filter { $0.severity == severity }
            guard !matching.isEmpty else { continue }
            sections.append(
                Sheet.Section(
                    "_\(severity.rawValue)",
                    title: severity.title,
                    .notes(matching.flatMap { $0.lines(explaining: explaining) })
                )
            )
        }
        return Sheet(sections)
    }

    private var facts: [Sheet.Fact] {
        [
            Sheet.Fact("stream", "Stream", .text(stream.name)),
            Sheet.Fact("from_domain", "From domain", .text(stream.fromDomain.description)),
            Sheet.Fact("envelope_domain", "Envelope domain", .text(stream.envelopeDomain.description)),
            Sheet.Fact("spf", "SPF path", .text(verdict.spf.rawValue), verdict.spf.emphasis),
            Sheet.Fact("dkim", "DKIM path", .text(verdict.dkim.rawValue), verdict.dkim.emphasis),
            Sheet.Fact("reachable", "Reachable", .text(verdict.reachable.rawValue), verdict.reachable.emphasis),
            Sheet.Fact("robust", "Robust", .bool(verdict.isRobust)),
        ]
    }

    /// The report as JSON for programs.
    func object(explaining: Bool) -> [String: OutputValue] {
        var members = Dictionary(facts.map { ($0.name, $0.value) }) { _, last in last }
        members["conclusion"] = .text(conclusion.rawValue)
        members["registered"] = .object([
            "envelope_domain": .bool(verdict.envelopeRegistered), "from_domain": .bool(verdict.fromRegistered),
        ])
        members["findings"] = .list(findings.map { $0.object(explaining: explaining) })
        members["answers"] = .list(
            answers.map { answer in
                .object([
                    "name": .text(answer.question.name.description), "type": .text(answer.question.type.description),
                    "outcome": .text(answer.outcome.description), "ttl": .integer(answer.outcome.ttl),
                    "aliases": .list(answer.outcome.chain.map { .text($0.description) }),
                    "records": .list(answer.outcome.shownRecords.map { .text($0) }),
                ])
            }
        )
        return members
    }
}

extension Finding {
    fileprivate func lines(explaining: Bool) -> [String] {
        var lines = ["\(code.rawValue)  \(subject): \(summary)"]
        lines += seen.map { "    seen: \($0)" }
        if let publish { lines.append("    publish: \(publish.name). \(publish.type) \(publish.value)") }
        if explaining { lines += ["    why: \(code.explanation)", "    rule: \(code.section)"] }
        return lines
    }

    fileprivate func object(explaining: Bool) -> OutputValue {
        var members: [String: OutputValue] = [
            "code": .text(code.rawValue), "severity": .text(severity.rawValue), "subject": .text(subject),
            "summary": .text(summary), "seen": .list(seen.map { .text($0) }), "section": .text(code.section),
            "publish": publish.map {
                .object(["type": .text($0.type), "name": .text($0.name), "value": .text($0.value)])
            } ?? .null,
        ]
        if explaining { members["explanation"] = .text(code.explanation) }
        return .object(members)
    }
}

extension Finding.Severity {
    fileprivate var title: String {
        switch self {
        case .broken: "Broken"
        case .unknown: "Unknown"
        case .weak: "Weak"
        case .advice: "Advice"
        }
    }
}

extension PathVerdict {
    /// How the verdict is emphasised.
    var emphasis: Emphasis {
        switch self {
        case .ok: .good
        case .weak, .unknown: .caution
        case .broken: .bad
        }
    }
}

extension Reachability {
    /// How the answer is emphasised.
    var emphasis: Emphasis {
        switch self {
        case .yes: .good
        case .unknown: .caution
        case .no: .bad
        }
    }
}

extension StreamReport.Conclusion {
    /// The exit status of this conclusion.
    var exitStatus: ExitStatus {
        switch self {
        case .ok: .ok
        case .advice: .advice
        case .broken: .broken
        case .unknown: .temporary
        }
    }

    /// The worst of several conclusions, in this order: broken, unknown, advice.
    static func worst(_ conclusions: [Self]) -> Self {
        for conclusion in [Self.broken, .unknown, .advice] where conclusions.contains(conclusion) { return conclusion }
        return .ok
    }
}
