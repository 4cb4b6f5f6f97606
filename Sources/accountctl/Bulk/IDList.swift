import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A list of ids read from a file or from standard input, one per line.
///
/// Blank lines and lines that begin with `#` are skipped. Each id takes 16 bytes.
struct IDList {
    /// What the ids of a list refer to.
    enum Subject: Sendable {
        case users, requests

        /// The expected content of a line, for error messages.
        var noun: String {
            switch self {
            case .users: "user id"
            case .requests: "request id"
            }
        }

        /// The command that prints such ids.
        fileprivate var source: String {
            switch self {
            case .users: "accountctl user find"
            case .requests: "accountctl deletion list"
            }
        }
    }

    /// The most ids in one list.
    static let limit = 1_000_000

    /// Each id once, in the order of the file.
    private(set) var ids: [UUID] = []
    /// How many lines repeated an id from an earlier line.
    private(set) var repeated = 0

    /// Reads a list.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - subject: what the ids refer to.
    /// - Throws: ``CommandError`` that names every line with an invalid id; also for an empty list, one over ``limit``,
    ///   or one that cannot be read.
    init(path: String, of subject: Subject) throws {
        var seen: Set<UUID> = []
        var problems = LineProblems()
        try InputLines.forEach(in: path, collecting: &problems) { line in
            let text = line.drop(while: \.isWhitespace)
            if text.isEmpty || text.hasPrefix("#") { return }
            guard let id = LookupTerm(String(text), as: .userID)?.userID else {
                throw LineProblem("\"\(SafeText.line(text.prefix(60)))\" is not a \(subject.noun)")
            }
            guard seen.insert(id).inserted else {
                repeated += 1
                return
            }
            guard ids.count < Self.limit else {
                throw CommandError(.usage, "\(InputLines.name(of: path)) has more than \(Self.limit) ids: split it")
            }
            ids.append(id)
        }
        if let text = problems.text {
            throw CommandError(
                .usage,
                text,
                hint:
                    "Nothing was done. A line holds a \(subject.noun) and nothing else; \(subject.source) gives the id."
            )
        }
        if ids.isEmpty {
            throw CommandError(.usage, "\(InputLines.name(of: path)) holds no \(subject.noun)")
        }
    }

    /// Notes how many lines repeated an id.
    func tellRepeated(in context: CommandContext) {
        guard repeated > 0 else { return }
        context.messages.note("\(Wording.count(repeated, "line repeats", "lines repeat")) an id, which counts once")
    }
}
