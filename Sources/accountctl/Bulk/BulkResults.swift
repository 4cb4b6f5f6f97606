import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What came of one account in a bulk run: a line of the result file.
struct BulkResult: Codable, Equatable {
    /// The stable words of the result file.
    enum Outcome: String, Codable, CaseIterable {
        case requested, found
        /// It was erased before.
        case erased
        case unknownUser = "unknown_user"
        case failed

        /// Whether there was a request that a worker carries out: then a later run need not look at the account again
        /// while it is there.
        var isSettled: Bool { self == .requested || self == .found }
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
/// The first line names the database: what was done in one is not done in another. A clone has the same name, and so
/// has a backup that was restored: what a line says is done only where its request is. Lines are only ever added; the
/// last one of an account counts. A run that is killed leaves at most one line unfinished, which the next run takes
/// away; what it had done and not yet written is found done by the database. A run that does nothing leaves nothing.
final class BulkResults {
    /// The request of each account for which there was one when it was written down.
    private(set) var requests: [UUID: UUID] = [:]
    private let descriptor: Int32
    private let database: DatabaseIdentity
    private var hasHead = false
    private let sink: DescriptorSink

    private init(_ descriptor: Int32, _ database: DatabaseIdentity) {
        self.descriptor = descriptor
        self.database = database
        sink = DescriptorSink(descriptor: descriptor)
    }

    /// Opens the file for this run alone, or makes it readable to its owner only, and reads what is done.
    ///
    /// - Throws: ``CommandError`` when another run has it, when it is of another database or holds something else, or
    ///   when it cannot be opened.
    static func with<Result>(
        _ path: String,
        of database: DatabaseIdentity,
        _ body: (BulkResults) async throws -> Result
    ) async throws -> Result {
        let isNew = access(path, F_OK) != 0
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError(.usage, "cannot write the result file \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isAt(path, descriptor) else {
            throw CommandError(.temporary, "another run is writing the result file \(path)")
        }
        // While it is locked: whoever opened it in between sees that it is gone.
        defer { if isNew, lseek(descriptor, 0, SEEK_END) == 0 { unlink(path) } }
        let results = BulkResults(descriptor, database)
        try results.read(path)
        return try await body(results)
    }

    /// Whether an open file is still the one of that name: a run that did nothing takes its own away.
    private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && stat(path, &named) == 0 && open.st_ino == named.st_ino
            && open.st_dev == named.st_dev
    }

    /// Reads a file without making or locking it, for a look before a run.
    static func requests(in path: String, of database: DatabaseIdentity) throws -> [UUID: UUID] {
        guard access(path, F_OK) == 0 else { return [:] }
        return try contents(of: path, database).requests
    }

    /// Adds lines.
    ///
    /// - Throws: `OutputFailed`, when the disk is full for example.
    func append(_ results: [BulkResult], at moment: Date) throws {
        let head = hasHead ? "" : Head.line(database, at: moment) + "\n"
        try sink.write(head + results.map { $0.line(at: moment) + "\n" }.joined())
        hasHead = true
    }

    private func read(_ path: String) throws {
        let contents = try Self.contents(of: path, database)
        requests = contents.requests
        hasHead = contents.hasHead
        let size = Int(lseek(descriptor, 0, SEEK_END))
        if contents.whole > size {
            // All of the last line but its end.
            try sink.write("\n")
        } else if contents.whole < size, ftruncate(descriptor, off_t(contents.whole)) != 0 {
            throw CommandError(.failure, "cannot mend the result file \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// The first line.
    private struct Head: Decodable {
        let database: String

        static func line(_ database: DatabaseIdentity, at moment: Date) -> String {
            JSONText.line(["at": .date(moment), "database": .text(database.description)])
        }
    }

    /// What a file holds.
    private struct Contents {
        /// The request of each account that has one.
        var requests: [UUID: UUID] = [:]
        /// The length of all whole lines.
        var whole = 0
        /// Whether it says which database it is of.
        var hasHead = false
    }

    private static func contents(of path: String, _ database: DatabaseIdentity) throws -> Contents {
        var contents = Contents()
        var unfinished: (number: Int, text: String)?
        let decoder = JSONDecoder()
        try InputLines.forEach(in: path) { number, line in
            if let unfinished { throw strange(path, unfinished.number) }
            let data = Data(line.utf8)
            if !contents.hasHead, contents.whole == 0, let head = try? decoder.decode(Head.self, from: data) {
                guard head.database == database.description else { throw foreign(path) }
                contents.hasHead = true
            } else if let result = try? decoder.decode(BulkResult.self, from: data) {
                guard contents.hasHead else { throw foreign(path) }
                contents.requests[result.userID] = result.outcome.isSettled ? result.request : nil
            } else {
                unfinished = (number, line)
                return
            }
            contents.whole += line.utf8.count + 1
        }
        // A line of something else is not taken away as one that a killed run could not finish.
        let start = "{\"at\":\""
        if let (number, text) = unfinished, !start.hasPrefix(text.prefix(start.count)) { throw strange(path, number) }
        return contents
    }

    private static func foreign(_ path: String) -> CommandError {
        CommandError(
            .usage,
            "\(path) holds results of another database, or does not say of which",
            hint:
                "Is this the right database? Name another file with --result: what was asked for here before is found."
        )
    }

    private static func strange(_ path: String, _ number: Int) -> CommandError {
        CommandError(
            .usage,
            "\(path) is no result file: line \(number) is no result of a bulk run",
            hint: "Name another with --result; nothing was changed."
        )
    }
}
