import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What came of one account in a bulk run: a line of the result file.
struct BulkResult: Codable, Equatable {
    /// The stable words of the result file.
    enum Outcome: String, Codable, CaseIterable {
        case requested, found
        case unknownUser = "unknown_user"
        case failed

        /// Whether a later run need not look at the account again.
        var isSettled: Bool { self != .failed }
    }

    let userID: UUID
    let outcome: Outcome
    var request: UUID?
    /// Why it failed, without personal data.
    var error: String?

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case outcome, request, error
    }

    /// The line, without its end.
    func line(at moment: Date) -> String {
        JSONText.line([
            "user_id": .uuid(userID), "outcome": .text(outcome.rawValue), "request": .uuid(request),
            "error": .text(error), "at": .date(moment),
        ])
    }
}

/// The file that a bulk run writes what was done to, and reads what is done from: NDJSON, a line for each account.
///
/// Lines are only ever added. A run that is killed leaves at most one line unfinished, which the next run takes away; what it had done
/// and not yet written is found done by the database.
final class BulkResults {
    /// The accounts that need not be looked at again.
    private(set) var settled: Set<UUID> = []
    private let descriptor: Int32
    private let sink: DescriptorSink

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        sink = DescriptorSink(descriptor: descriptor)
    }

    /// Opens the file for this run alone, or makes it readable to its owner only, and reads what is done.
    ///
    /// - Throws: ``CommandError`` when another run has it, when it holds something else, or when it cannot be opened.
    static func with<Result>(_ path: String, _ body: (BulkResults) async throws -> Result) async throws -> Result {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError(.usage, "cannot write the result file \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw CommandError(.temporary, "another run is writing the result file \(path)")
        }
        let results = BulkResults(descriptor)
        try results.read(path)
        return try await body(results)
    }

    /// Reads a file without making or locking it, for a look before a run.
    static func settled(in path: String) throws -> Set<UUID> {
        guard access(path, F_OK) == 0 else { return [] }
        return try read(path).settled
    }

    /// Adds lines.
    ///
    /// - Throws: `OutputFailed`, when the disk is full for example.
    func append(_ results: [BulkResult], at moment: Date) throws {
        try sink.write(results.map { $0.line(at: moment) + "\n" }.joined())
    }

    private func read(_ path: String) throws {
        let (settled, whole) = try Self.read(path)
        self.settled = settled
        let size = Int(lseek(descriptor, 0, SEEK_END))
        if whole > size {
            // All of the last line but its end.
            try sink.write("\n")
        } else if whole < size, ftruncate(descriptor, off_t(whole)) != 0 {
            throw CommandError(.failure, "cannot mend the result file \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// The accounts that are done, and the length of all whole lines.
    private static func read(_ path: String) throws -> (settled: Set<UUID>, whole: Int) {
        var settled: Set<UUID> = []
        var whole = 0
        var unfinished: (number: Int, text: String)?
        let decoder = JSONDecoder()
        try InputLines.forEach(in: path) { number, line in
            if let unfinished { throw strange(path, unfinished.number) }
            guard let result = try? decoder.decode(BulkResult.self, from: Data(line.utf8)) else {
                unfinished = (number, line)
                return
            }
            whole += line.utf8.count + 1
            if result.outcome.isSettled { settled.insert(result.userID) } else { settled.remove(result.userID) }
        }
        // A line of something else is not taken away as one that a killed run could not finish.
        let start = "{\"at\":\""
        if let (number, text) = unfinished, !start.hasPrefix(text.prefix(start.count)) { throw strange(path, number) }
        return (settled, whole)
    }

    private static func strange(_ path: String, _ number: Int) -> CommandError {
        CommandError(
            .usage,
            "\(path) is no result file: line \(number) is no result of a bulk run",
            hint: "Name another with --result; nothing was changed."
        )
    }
}
