import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Ids read from a file or from standard input, one a line.
///
/// Blank lines and lines that begin with `#` are skipped. What is kept of an id are its 16 bytes.
struct IDList {
    /// What the ids of a list name.
    enum Subject: Sendable {
        case users, requests

        /// What a line is to be.
        var noun: String {
            switch self {
            case .users: "user id"
            case .requests: "request id"
            }
        }

        /// What gives such an id.
        fileprivate var source: String {
            switch self {
            case .users: "accountctl user find"
            case .requests: "accountctl deletion list"
            }
        }
    }

    /// The most ids taken at once.
    static let limit = 1_000_000

    /// Each id once, in the order of the file.
    private(set) var ids: [UUID] = []
    /// How many lines named an id that stood there already.
    private(set) var repeated = 0

    /// Reads a list.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - subject: what its ids name.
    /// - Throws: ``CommandError`` that names every line which is no such id.
    init(path: String, of subject: Subject) throws {
        var seen: Set<UUID> = []
        var problems = LineProblems()
        try InputLines.forEach(in: path, collecting: &problems) { line in
            let text = line.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            if text.isEmpty || text.hasPrefix("#") { return }
            guard let id = LookupTerm(String(text), as: .userID)?.userID else {
                throw LineProblem("\"\(SafeText.line(text.prefix(60)))\" is no \(subject.noun)")
            }
            guard seen.insert(id).inserted else {
                repeated += 1
                return
            }
            guard ids.count < Self.limit else {
                throw CommandError(.usage, "\(path) has more than \(Self.limit) ids: split it")
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
            throw CommandError(.usage, "\(path == "-" ? "standard input" : path) holds no \(subject.noun)")
        }
    }

    /// Says how many lines repeated an id.
    func tellRepeated(in context: CommandContext) {
        guard repeated > 0 else { return }
        context.messages.note("\(Wording.count(repeated, "line repeats", "lines repeat")) an id, which counts once")
    }
}
