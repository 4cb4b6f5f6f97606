import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let driverRoundtrip = Benchmark(
        name: "driver.roundtrip",
        summary: "parameterised select on one connection, inside a lease, against pgbench -M prepared"
    ) {
        try await DriverRoundtrip().measure()
    }
}

/// One statement at a time on one connection: the driver's overhead over libpq's own round trip.
private struct DriverRoundtrip {
    private let rounds = 7
    private let secondsPerRound = 2

    func measure() async throws -> [Figure] {
        try await BenchmarkCluster.with { cluster in
            var rates: [Double] = []
            var floors: [Double] = []
            // Alternating, so that a noisy moment affects both.
            for _ in 0..<rounds {
                floors.append(try await pgbench(cluster))
                rates.append(try await driver(cluster))
            }
            return [
                Figure(
                    name: "driver.roundtrip",
                    unit: "statements/s",
                    goal: "≥ 0.9 × floor",
                    values: rates,
                    floors: floors
                )
            ]
        }
    }

    private func driver(_ cluster: BenchmarkCluster) async throws -> Double {
        let configuration = PoolConfiguration(connection: ConnectionConfiguration(conninfo: cluster.conninfo()))
        return try await Pool.withPool(configuration, logger: .silent) { pool in
            try await pool.withConnection { connection in
                let start = ContinuousClock.now
                let end = start.advanced(by: .seconds(secondsPerRound))
                var count = 0
                while true {
                    for number in 0..<1000 {
                        let value: Int32 = try connection.one("select \(Int32(number))", as: Int32.self)
                        precondition(value == Int32(number))
                    }
                    count += 1000
                    let now = ContinuousClock.now
                    if now >= end { return Double(count) / (start.duration(to: now) / .seconds(1)) }
                }
            }
        }
    }

    private func pgbench(_ cluster: BenchmarkCluster) async throws -> Double {
        let script = cluster.folder + "/select.sql"
        try "\\set n 1\nselect :n::int4;\n".write(toFile: script, atomically: true, encoding: .utf8)
        let output = try await BenchmarkCluster.command([
            "pgbench", "-n", "-M", "prepared", "-T", "\(secondsPerRound)", "-f", script, "-h",
            cluster.folder + "/socket",
            "-p", "\(cluster.port)", "-U", "supabase_admin", "postgres",
        ])
        for line in output.split(separator: "\n") where line.hasPrefix("tps = ") {
            if let rate = Double(line.dropFirst(6).prefix { $0 != " " }) { return rate }
        }
        throw BenchmarkError("pgbench told no rate:\n\(output)")
    }
}
