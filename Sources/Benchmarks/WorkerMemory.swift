import Subprocess

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Benchmark {
    static let memoryIdle = Benchmark(
        name: "memory.idle",
        summary: "private memory of a worker that has waited for work for five seconds; and all that is resident"
    ) {
        try await DeletionLoad.with { load in
            let program = try Program.accountctl
            var seen: [ProcessMemory] = []
            for _ in 0..<5 {
                let (_, memory) = try await program.watch(["worker", "--config", load.settingsFile]) { process in
                    // Long enough for the start, the first heartbeat and the periodic jobs that are due immediately.
                    try await Task.sleep(for: .seconds(5))
                    let memory = ProcessMemory(of: process)
                    kill(process.value, SIGTERM)
                    return memory
                }
                guard let memory else { throw BenchmarkError("the worker did not stay, or there is no /proc") }
                seen.append(memory)
            }
            return ProcessMemory.figures("memory.idle", goal: "≤ 15 MB", seen)
        }
    }

    static let memoryLoad = Benchmark(
        name: "memory.load",
        summary: "the most private memory of a worker while it deletes 2,000 accounts; and all that is resident"
    ) {
        try await DeletionLoad.with { load in
            let program = try Program.accountctl
            var seen: [ProcessMemory] = []
            for _ in 0..<5 {
                try await load.ask()
                let arguments = ["worker", "--until-idle", "--config", load.settingsFile]
                let (_, memory) = try await program.watch(arguments) { try await ProcessMemory.peak(of: $0) }
                try await load.check()
                guard let memory else { throw BenchmarkError("there is no /proc to read memory from") }
                seen.append(memory)
            }
            return ProcessMemory.figures("memory.load", goal: "≤ 60 MB", seen)
        }
    }
}

extension ProcessMemory {
    fileprivate static func figures(_ name: String, goal: String, _ seen: [ProcessMemory]) -> [Figure] {
        [
            Figure(name: name, unit: "MB", goal: goal, values: seen.map(\.own)),
            Figure(name: name + ".total", unit: "MB", goal: "told", values: seen.map(\.total)),
        ]
    }
}
