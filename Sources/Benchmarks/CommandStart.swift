#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let commandStart = Benchmark(
        name: "cli.start",
        summary: "`accountctl --help`, whole process, in milliseconds"
    ) {
        let program = try Program.accountctl
        var times: [Double] = []
        // The first round, which reads the binary from disk, does not count.
        for round in -1..<41 {
            let time = try await program.time(["--help"])
            if round >= 0 { times.append(time * 1000) }
        }
        return [Figure(name: "cli.start", unit: "ms", goal: "≤ 15 ms", values: times)]
    }

    static let commandSize = Benchmark(
        name: "cli.size",
        summary: "size of the program without symbols, in megabytes; build it with --static-swift-stdlib"
    ) {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "accountctl-size-\(UUID().uuidString.prefix(8).lowercased())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = folder + "/accountctl"
        try await BenchmarkCluster.command(["strip", "-o", copy, try Program.accountctl.path])
        let bytes = try Data(contentsOf: URL(filePath: copy)).count
        return [Figure(name: "cli.size", unit: "MB", goal: "told", values: [Double(bytes) / 1_000_000])]
    }
}
