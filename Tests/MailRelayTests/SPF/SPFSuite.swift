import Foundation
import MailRelay
import Testing

/// The published conformance suite of RFC 7208, as the JSON beside the checkout holds it (3-clause BSD, licence beside it).
struct SPFSuite {
    let scenarios: [Scenario]

    struct Scenario: Decodable {
        let scenario: String
        let zone: [String: [Record]]
        let tests: [Case]
    }

    struct Record: Decodable {
        let type: String
        let strings: [String]?
        let address: String?
        let name: String?
        let preference: UInt16?
        let timeout: Bool?
    }

    struct Case: Decodable, Sendable {
        let id: String
        let description: String
        let helo: String
        let host: String
        let mailfrom: String
        let result: [String]
        let explanation: String?
    }

    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String {
            "no SPF conformance suite at \(path): it belongs at ../shared/data/rfc7208-tests.json beside the checkout, "
                + "or where ACCOUNTCTL_SPF_SUITE says"
        }
    }

    /// Reads the suite; a suite that is not there is an error, never a skip.
    static func load() throws -> SPFSuite {
        let beside = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "shared/data/rfc7208-tests.json").path
        let path = ProcessInfo.processInfo.environment["ACCOUNTCTL_SPF_SUITE"] ?? beside
        guard let data = FileManager.default.contents(atPath: path) else { throw Missing(path: path) }
        return SPFSuite(scenarios: try JSONDecoder().decode([Scenario].self, from: data))
    }
}

extension SPFSuite.Scenario {
    /// The scenario's zone as a resolver.
    func resolver() -> ZoneResolver {
        var records: [Question: [RecordData]] = [:]
        var outcomes: [Question: LookupOutcome] = [:]
        var silent: Set<DomainName> = []
        var names: Set<DomainName> = []
        for (text, entries) in zone {
            let labels = text.utf8.split(separator: UInt8(ascii: "."))
            guard let name = try? DomainName(labels: labels) else { continue }
            names.insert(name)
            for entry in entries {
                guard entry.timeout != true else {
                    if entry.type == "*" {
                        silent.insert(name)
                    } else if let type = entry.recordType {
                        outcomes[Question(name, type)] = .timeout
                    }
                    continue
                }
                guard let type = entry.recordType, let data = entry.data else { continue }
                records[Question(name, type), default: []].append(data)
            }
        }
        for (question, data) in records {
            outcomes[question] = .records(LookupOutcome.Answer(records: data, ttl: 300))
        }
        // Names that exist with nothing but retired types still exist.
        for name in names where !silent.contains(name) {
            let question = Question(name, RecordType(rawValue: 65_280))
            outcomes[question] = outcomes[question] ?? .noData(LookupOutcome.Absence())
        }
        return ZoneResolver(outcomes, silent: silent)
    }
}

extension SPFSuite.Record {
    var recordType: RecordType? {
        switch type {
        case "A": .a
        case "AAAA": .aaaa
        case "MX": .mx
        case "PTR": .ptr
        case "CNAME": .cname
        case "TXT": .txt
        default: nil
        }
    }

    var data: RecordData? {
        switch type {
        case "A": address.flatMap { IPv4Address($0) }.map { .a($0) }
        case "AAAA": address.flatMap { IPv6Address($0) }.map { .aaaa($0) }
        case "MX": target.map { .mx(preference: preference ?? 0, exchange: $0) }
        case "PTR": target.map { .ptr($0) }
        case "CNAME": target.map { .cname($0) }
        // Each character of the JSON stands for one byte.
        case "TXT": strings.map { .text($0.map { $0.unicodeScalars.map { UInt8($0.value) } }) }
        default: nil
        }
    }

    private var target: DomainName? {
        guard let name else { return nil }
        return try? DomainName(labels: name.utf8.split(separator: UInt8(ascii: ".")))
    }
}
