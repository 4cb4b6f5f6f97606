package import MailRelay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The published conformance suite of RFC 7208 (3-clause BSD; not in this repository) as tables and senders, for
/// benchmarks and tests.
///
/// The file is a JSON array of scenarios. Each has `scenario` (its name), `zone` (an array of records for each name,
/// with `type`, and `strings`, `address`, `name`, `preference` or `timeout`) and `tests` (an array of objects with
/// `id`, `host`, `helo`, `mailfrom`, `result`, an array of the accepted results, and optionally `explanation`).
package struct SPFSuite: Sendable {
    /// The path of the suite.
    package let path: String
    package let scenarios: [Scenario]

    /// A DNS table and the test cases for it.
    package struct Scenario: Sendable {
        package let name: String
        package let resolver: ZoneResolver
        package let cases: [Case]
    }

    /// A sender as a mail server sees it, and the result that the suite expects.
    package final class Case: Decodable, Sendable {
        package let id: String
        package let host: String
        let mailFrom: String
        let helo: String
        /// The results that the suite accepts.
        package let accepted: [SPFResult]
        /// The explanation behind `exp=`; nil if the suite does not state one.
        package let explanation: String?

        private enum CodingKeys: String, CodingKey {
            case id, host, helo, explanation
            case mailFrom = "mailfrom"
            case accepted = "result"
        }

        package var query: SPFQuery? {
            IPAddress(host).map { SPFQuery(address: $0, mailFrom: mailFrom, helo: helo) }
        }
    }

    private static let named = ProcessInfo.processInfo.environment["ACCOUNTCTL_SPF_SUITE"]
    private static let beside =
        String(#filePath.dropLast("/Sources/SPFSuite/SPFSuite.swift".count)) + "/../shared/data/rfc7208-tests.json"

    /// Whether the suite is expected to be present, which is not the case in a bare checkout.
    package static var isExpected: Bool { named != nil || FileManager.default.fileExists(atPath: beside) }

    /// Loads the suite from beside the checkout, or from the path in ACCOUNTCTL_SPF_SUITE.
    ///
    /// - Throws: ``Missing``, `DecodingError`.
    package static func load() throws -> SPFSuite {
        let path = named ?? beside
        guard let data = FileManager.default.contents(atPath: path) else { throw Missing(path: path) }
        let groups = try JSONDecoder().decode([Group].self, from: data)
        return SPFSuite(
            path: path,
            scenarios: groups.map { Scenario(name: $0.scenario, resolver: $0.resolver, cases: $0.tests) }
        )
    }

    /// The suite was not found.
    package struct Missing: Error, CustomStringConvertible {
        let path: String

        package var description: String { "no SPF suite at \(path): set ACCOUNTCTL_SPF_SUITE" }
    }

    private struct Group: Decodable {
        let scenario: String
        let zone: [String: [Record]]
        let tests: [Case]

        var resolver: ZoneResolver {
            var outcomes: [Question: LookupOutcome] = [:]
            var silent: Set<DomainName> = []
            for (text, entries) in zone {
                guard let name = SPFSuite.name(text) else { continue }
                var records: [RecordType: [RecordData]] = [:]
                for entry in entries {
                    if entry.timeout == true {
                        silent.insert(name)
                    } else if let (type, data) = entry.record {
                        records[type, default: []].append(data)
                    }
                }
                for (type, data) in records {
                    outcomes[Question(name, type)] = .records(LookupOutcome.Answer(records: data, ttl: 300))
                }
                // A name whose records are all of retired types still exists.
                if records.isEmpty, !silent.contains(name) {
                    outcomes[Question(name, .spf)] = .noData(LookupOutcome.Absence())
                }
            }
            return ZoneResolver(outcomes, silent: silent)
        }
    }

    private struct Record: Decodable {
        let type: String
        let strings: [String]?
        let address: String?
        let name: String?
        let preference: UInt16?
        let timeout: Bool?

        var record: (RecordType, RecordData)? {
            switch type {
            case "A": address.flatMap { IPv4Address($0) }.map { (.a, .a($0)) }
            case "AAAA": address.flatMap { IPv6Address($0) }.map { (.aaaa, .aaaa($0)) }
            case "MX":
                name.flatMap { SPFSuite.name($0) }.map { (.mx, .mx(preference: preference ?? 0, exchange: $0)) }
            case "PTR": name.flatMap { SPFSuite.name($0) }.map { (.ptr, .ptr($0)) }
            case "CNAME": name.flatMap { SPFSuite.name($0) }.map { (.cname, .cname($0)) }
            case "TXT":
                // Each character of the JSON stands for one byte.
                strings.map { (.txt, .text($0.map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } })) }
            default: nil
            }
        }
    }

    private static func name(_ text: String) -> DomainName? {
        try? DomainName(labels: text.utf8.split(separator: UInt8(ascii: ".")))
    }
}

extension SPFResult: Decodable {}
