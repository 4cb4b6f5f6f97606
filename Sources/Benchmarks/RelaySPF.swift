import MailRelay
import SPFSuite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let relaySPF = Benchmark(
        name: "relay.spf",
        summary: "SPF evaluations per second on the published suite, all answers at hand, against pyspf doing the same"
    ) {
        try await RelaySPF().measure()
    }
}

/// The evaluator alone: no sockets, no waiting, one thread.
private struct RelaySPF {
    private let rounds = 5
    private let secondsPerRound = 1.0

    func measure() async throws -> [Figure] {
        let suite = try SPFSuite.load()
        let pyspf = try await Pyspf(suite: suite.path)
        var rates: [Double] = []
        var floors: [Double] = []
        // Alternating, so that a noisy moment affects both.
        for _ in 0..<rounds {
            if let pyspf { floors.append(try await pyspf.rate(seconds: secondsPerRound)) }
            rates.append(try await ours(suite))
        }
        await pyspf?.remove()
        return [
            Figure(name: "relay.spf", unit: "evaluations/s", goal: "≥ 50 × pyspf", values: rates, floors: floors)
        ]
    }

    private func ours(_ suite: SPFSuite) async throws -> Double {
        let start = ContinuousClock.now
        var count = 0
        while ContinuousClock.now - start < .seconds(secondsPerRound) {
            for scenario in suite.scenarios {
                let evaluator = SPFEvaluator(scenario.resolver)
                let deadline = ContinuousClock.now.advanced(by: .seconds(20))
                for test in scenario.cases {
                    // Starts from text, as pyspf does.
                    guard let query = test.query else {
                        throw BenchmarkError("the suite names no address: \(test.host)")
                    }
                    let result = await evaluator.evaluateByTable(query, by: deadline).result
                    // Speed counts only with correct results.
                    guard test.accepted.contains(result) else {
                        throw BenchmarkError("a case of the suite gave \(result), not \(test.accepted)")
                    }
                }
                count += scenario.cases.count
            }
        }
        return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
    }
}

/// pyspf from PyPI, in an environment of its own.
private struct Pyspf {
    private let folder: String
    private let suite: String

    /// Sets pyspf up; nil without python3 or access to PyPI, and the figure then has no floor.
    init?(suite: String) async throws {
        self.suite = suite
        folder = FileManager.default.temporaryDirectory.path + "/pyspf-" + UUID().uuidString
        do {
            try await BenchmarkCluster.command(["python3", "-m", "venv", folder])
            try await BenchmarkCluster.command(["\(folder)/bin/pip", "install", "--quiet", "pyspf", "dnspython"])
            try Self.script.write(toFile: folder + "/measure.py", atomically: true, encoding: .utf8)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            return nil
        }
    }

    func rate(seconds: Double) async throws -> Double {
        let output = try await BenchmarkCluster.command(
            ["\(folder)/bin/python3", "\(folder)/measure.py", suite, "\(seconds)"]
        )
        let word = output.prefix { $0 != "\n" }
        guard let rate = Double(word) else { throw BenchmarkError("pyspf told no rate: \(output)") }
        return rate
    }

    func remove() async {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Tables are prepared beforehand, as on our side, and results are also checked against the suite.
    private static let script = """
        import json, sys, time
        import spf

        zone = {}

        def lookup(name, qtype, strict=True, timeout=20, level=0):
            records = zone.get(name.lower().rstrip('.'))
            if records is None:
                return []
            found = []
            for kind, value in records:
                if kind == '*':
                    if not any(other == qtype for other, _ in records):
                        raise spf.TempError('DNS timeout')
                elif kind == qtype or kind == 'CNAME':
                    found.append(((name, kind), value))
                    if kind == 'CNAME' and qtype != 'CNAME' and level < 4:
                        found += lookup(value, qtype, strict, timeout, level + 1)
            return found

        spf.DNSLookup = lookup

        def prepared(text):
            names = {}
            for name, records in text.items():
                values = []
                for record in records:
                    kind = record['type']
                    if record.get('timeout'):
                        values.append((kind, None))
                    elif kind in ('TXT', 'SPF'):
                        values.append((kind, tuple(part.encode('latin-1') for part in record['strings'])))
                    elif kind == 'MX':
                        values.append((kind, (record['preference'], record['name'])))
                    elif kind in ('A', 'AAAA'):
                        values.append((kind, record['address']))
                    else:
                        values.append((kind, record['name'].rstrip('.')))
                names[name.lower().rstrip('.')] = values
            return names

        with open(sys.argv[1]) as file:
            scenarios = [(prepared(entry['zone']), entry['tests']) for entry in json.load(file)]
        limit = float(sys.argv[2])
        start = time.perf_counter()
        count = 0
        while time.perf_counter() - start < limit:
            for table, tests in scenarios:
                zone = table
                for test in tests:
                    query = spf.query(test['host'], test['mailfrom'], test['helo'], receiver='unknown', strict=1)
                    query.set_default_explanation('DEFAULT')
                    result = query.check()[0]
                    if result not in test['result']:
                        sys.exit('%s: %s' % (test['id'], result))
                    count += 1
        print(count / (time.perf_counter() - start))
        """
}
