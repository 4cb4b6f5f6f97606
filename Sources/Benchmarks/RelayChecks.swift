import MailRelay

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Benchmark {
    static let relayCheck = Benchmark(
        name: "relay.check",
        summary: "a full check of one stream: own processor time, and its length when no name server answers"
    ) {
        try await RelayChecks().single() + RelayChecks().silent()
    }

    static let relayParallel = Benchmark(
        name: "relay.parallel",
        summary: "1,000 streams checked side by side, answers 5 ms away, and the most questions on their way at once"
    ) {
        try await RelayChecks().parallel()
    }
}

/// Checks of streams against a name server on the same machine.
private struct RelayChecks {
    private let rounds = 5
    private let checksPerRound = 20

    func single() async throws -> [Figure] {
        let streams = (0..<checksPerRound).map { Self.stream($0) }
        let values = try await RelayNameServer.withServer(Self.records(checksPerRound)) { server in
            var values: [Double] = []
            for _ in 0..<rounds {
                let before = Self.processorSeconds() - server.processorSeconds
                try await CaresResolver.withResolver(ResolverConfiguration(servers: [server.address])) { resolver in
                    for stream in streams { try await Self.check(stream, resolver) }
                }
                let used = Self.processorSeconds() - server.processorSeconds - before
                values.append(used / Double(streams.count) * 1000)
            }
            return values
        }
        return [Figure(name: "relay.check", unit: "ms of own CPU", goal: "≤ 20", values: values)]
    }

    func silent() async throws -> [Figure] {
        let value = try await RelayNameServer.withServer([:], delay: nil) { server in
            let start = ContinuousClock.now
            try await CaresResolver.withResolver(ResolverConfiguration(servers: [server.address])) { resolver in
                let deadline = start.advanced(by: StreamChecker.timeLimit)
                _ = await StreamChecker(resolver).check(Self.stream(0), by: deadline)
            }
            return (ContinuousClock.now - start) / .seconds(1)
        }
        return [Figure(name: "relay.check.silent", unit: "s", goal: "≤ 30", values: [value])]
    }

    func parallel() async throws -> [Figure] {
        let count = 1000
        let (seconds, most) = try await RelayNameServer.withServer(Self.records(count), delay: .milliseconds(5)) {
            server in
            let start = ContinuousClock.now
            try await CaresResolver.withResolver(ResolverConfiguration(servers: [server.address])) { resolver in
                let shared = CachingResolver(resolver)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<count { group.addTask { try await Self.check(Self.stream(index), shared) } }
                    try await group.waitForAll()
                }
            }
            return ((ContinuousClock.now - start) / .seconds(1), Double(server.mostWaiting))
        }
        return [
            Figure(name: "relay.parallel", unit: "s", goal: "≤ 60", values: [seconds]),
            Figure(name: "relay.parallel.inflight", unit: "questions", goal: "≤ 64", values: [most]),
        ]
    }

    /// A check with a wrong verdict has not done the work.
    private static func check(_ stream: MailStream, _ resolver: any Resolver) async throws {
        let report = await StreamChecker(resolver).check(stream, by: .now.advanced(by: .seconds(60)))
        guard report.verdict.spf == .ok, report.verdict.dkim == .weak else {
            throw BenchmarkError("a stream of the measurement came out wrong: \(report.findings)")
        }
    }

    private static func processorSeconds() -> Double {
        var used = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        return Double(used.tv_sec) + Double(used.tv_nsec) * 1e-9
    }

    // MARK: The streams

    private static func name(_ text: String) -> DomainName { (try? DomainName(dotted: text)) ?? .root }

    private static func stream(_ index: Int) -> MailStream {
        let domain = name("d\(index).test")
        return MailStream(
            name: "s\(index)",
            fromDomain: domain,
            envelopeDomain: name("send.d\(index).test"),
            provider: MailStream.Provider(includes: [name("_spf.esp.test")]),
            selectors: [MailStream.Selector("a"), MailStream.Selector("b")],
            registration: .names([domain, name("send.d\(index).test")])
        )
    }

    private static func records(_ count: Int) -> [Question: [[UInt8]]] {
        func text(_ string: String) -> [[UInt8]] { [[UInt8(string.utf8.count)] + Array(string.utf8)] }
        func exchange(_ host: String) -> [[UInt8]] { [[0, 10] + name(host).wire + [0]] }
        var records: [Question: [[UInt8]]] = [
            Question(name("_spf.esp.test"), .txt): text(
                "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.0/24 ip6:2001:db8::/32 -all"
            ),
            Question(name("mx.esp.test"), .a): [[192, 0, 2, 1]],
        ]
        // Short Ed25519 keys keep the tables small; the verdict on a stream with no other key is weak.
        let key = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
        for index in 0..<count {
            let domain = "d\(index).test"
            records[Question(name("send.\(domain)"), .txt)] = text("v=spf1 include:_spf.esp.test -all")
            records[Question(name("send.\(domain)"), .mx)] = exchange("mx.esp.test")
            records[Question(name(domain), .mx)] = exchange("mx.esp.test")
            records[Question(name("_dmarc.\(domain)"), .txt)] = text("v=DMARC1; p=reject")
            for selector in ["a", "b"] {
                records[Question(name("\(selector)._domainkey.\(domain)"), .txt)] = text(key)
            }
        }
        return records
    }
}
