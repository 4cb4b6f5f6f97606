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

/// The outcome for one account in a bulk run: a line of the result file.
struct BulkResult: Codable, Equatable {
    /// The outcomes; the raw values are part of the result file's format.
    enum Outcome: String, Codable, CaseIterable {
        case requested, found
        /// The account had been erased before.
        case erased
        case unknownUser = "unknown_user"
        case failed

        /// Whether a worker carries out a request for the account; a later run then skips the account as long as that
        /// request exists.
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

    /// The line of the result file, without a newline.
    func line(at moment: Date) -> String {
        JSONText.line([
            "user_id": .uuid(userID), "outcome": .text(outcome.rawValue), "request": .uuid(request),
            "error": .text(error), "at": .date(moment),
        ])
    }
}

/// The result file of a bulk run, which records what was done and tells the next run where to continue: NDJSON, one
/// line per account.
///
/// The first line names the database, since results from one say nothing about another. A clone or a restored backup
/// has the same name, so a recorded request counts as done only if the database has it. Lines are only appended; the
/// last one of an account counts. A run that is killed leaves at most one incomplete line, which the next run removes;
/// requests that it opened but did not record are found in the database. A run that does nothing leaves no file.
final class BulkResults {
    /// The recorded request of each account that had one.
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

    /// Opens or creates the file, locks it for this run alone, and reads the recorded requests; a new file is readable
    /// only to its owner.
    ///
    /// - Throws: ``CommandError`` if another run has the file locked, if the file belongs to another database or is no
    ///   result file, or if it cannot be opened.
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
        // Unlinks the empty file while it is still locked: a run that opened it in the meantime detects this in
        // ``isAt(_:_:)``.
        defer { if isNew, lseek(descriptor, 0, SEEK_END) == 0 { unlink(path) } }
        let results = BulkResults(descriptor, database)
        try results.read(path)
        return try await body(results)
    }

    /// Whether the path still names the open file, which another run may have removed because it did nothing.
    private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && stat(path, &named) == 0 && open.st_ino == named.st_ino
            && open.st_dev == named.st_dev
    }

    /// Reads the file without creating or locking it, for a dry run.
    static func requests(in path: String, of database: DatabaseIdentity) throws -> [UUID: UUID] {
        guard access(path, F_OK) == 0 else { return [:] }
        return try contents(of: path, database).requests
    }

    /// Appends the results, after the head line if the file has none yet.
    ///
    /// - Throws: `OutputFailed`, for example if the disk is full.
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
            // The last line is complete except for its newline.
            try sink.write("\n")
        } else if contents.whole < size, ftruncate(descriptor, off_t(contents.whole)) != 0 {
            throw CommandError(.failure, "cannot repair the result file \(path): \(String(cString: strerror(errno)))")
        }
    }

    /// The first line, which names the database.
    private struct Head: Decodable {
        let database: String

        static func line(_ database: DatabaseIdentity, at moment: Date) -> String {
            JSONText.line(["at": .date(moment), "database": .text(database.description)])
        }
    }

    /// The contents of a result file.
    private struct Contents {
        /// The recorded request of each account that has one.
        var requests: [UUID: UUID] = [:]
        /// The length of all complete lines, in bytes with their newlines.
        var whole = 0
        /// Whether the first line names the database.
        var hasHead = false
    }

    private static func contents(of path: String, _ database: DatabaseIdentity) throws -> Contents {
        var contents = Contents()
        var unfinished: (number: Int, text: String)?
        let decoder = JSONDecoder()
        try InputLines.forEach(in: path) { number, line, length in
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
            contents.whole += length + 1
        }
        // Only a line that starts like one of ours is removed as the rest of a killed run; anything else is not a
        // result file.
        let start = "{\"at\":\""
        if let (number, text) = unfinished, !start.hasPrefix(text.prefix(start.count)) { throw strange(path, number) }
        return contents
    }

    private static func foreign(_ path: String) -> CommandError {
        CommandError(
            .usage,
            "\(path) holds results of another database, or does not say which database they are of",
            hint:
                "If this is the right database, name another file with --result: earlier requests are found there too."
        )
    }

    private static func strange(_ path: String, _ number: Int) -> CommandError {
        CommandError(
            .usage,
            "\(path) is not a result file: line \(number) is not a result of a bulk run",
            hint: "Name another with --result; nothing was changed."
        )
    }
}
