import MailRelay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The published SPF suite as tables and senders.
struct RelaySuite {
    /// Where the suite lies.
    let path: String
    /// One table and its senders for each scenario, with the results that the suite accepts.
    let scenarios: [(resolver: ZoneResolver, senders: [Sender], accepted: [[SPFResult]])]

    /// A sender as a mail server learns of it.
    final class Sender: Sendable {
        let host: String
        let mailFrom: String
        let helo: String

        init(host: String, mailFrom: String, helo: String) {
            self.host = host
            self.mailFrom = mailFrom
            self.helo = helo
        }

        var query: SPFQuery? {
            IPAddress(host).map { SPFQuery(address: $0, mailFrom: mailFrom, helo: helo) }
        }
    }

    /// Reads the suite from beside the checkout, or from where ACCOUNTCTL_SPF_SUITE says.
    static func load() throws -> RelaySuite {
        let beside = BenchmarkCluster.repository + "/../shared/data/rfc7208-tests.json"
        let path = ProcessInfo.processInfo.environment["ACCOUNTCTL_SPF_SUITE"] ?? beside
        guard let data = FileManager.default.contents(atPath: path) else {
            throw BenchmarkError("no SPF suite at \(path): set ACCOUNTCTL_SPF_SUITE")
        }
        let scenarios = try JSONDecoder().decode([Scenario].self, from: data)
        return RelaySuite(
            path: path,
            scenarios: scenarios.map { scenario in
                (
                    scenario.resolver,
                    scenario.tests.map { Sender(host: $0.host, mailFrom: $0.mailfrom, helo: $0.helo) },
                    scenario.tests.map { $0.result.compactMap { SPFResult(rawValue: $0) } }
                )
            }
        )
    }

    private struct Scenario: Decodable {
        let zone: [String: [Record]]
        let tests: [Case]

        var resolver: ZoneResolver {
            var outcomes: [Question: LookupOutcome] = [:]
            var silent: Set<DomainName> = []
            for (text, entries) in zone {
                guard let name = RelaySuite.name(text) else { continue }
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
                // A name whose records are all of retired types exists nevertheless.
                if records.isEmpty, !silent.contains(name) {
                    outcomes[Question(name, .spf)] = .noData(LookupOutcome.Absence())
                }
            }
            return ZoneResolver(outcomes, silent: silent)
        }
    }

    private struct Case: Decodable {
        let helo: String
        let host: String
        let mailfrom: String
        let result: [String]
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
                name.flatMap { RelaySuite.name($0) }.map { (.mx, .mx(preference: preference ?? 0, exchange: $0)) }
            case "PTR": name.flatMap { RelaySuite.name($0) }.map { (.ptr, .ptr($0)) }
            case "CNAME": name.flatMap { RelaySuite.name($0) }.map { (.cname, .cname($0)) }
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
