import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// User ids read from a file or from standard input, one a line.
///
/// Blank lines and lines that begin with `#` are skipped. What is kept of an id are its 16 bytes.
struct UserIDList {
    /// The most ids taken at once.
    static let limit = 1_000_000

    /// Each id once, in the order of the file.
    private(set) var ids: [UUID] = []
    /// How many lines named an id that stood there already.
    private(set) var repeated = 0

    /// Reads a list.
    ///
    /// - Parameter path: a file, or `-` for standard input.
    /// - Throws: ``CommandError`` that names every line which is no user id.
    init(path: String) throws {
        var seen: Set<UUID> = []
        var problems = LineProblems()
        try InputLines.forEach(in: path, collecting: &problems) { line in
            let text = line.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            if text.isEmpty || text.hasPrefix("#") { return }
            guard let id = LookupTerm(String(text), as: .userID)?.userID else {
                throw LineProblem("\"\(SafeText.line(text.prefix(60)))\" is no user id")
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
                hint: "Nothing was done. A line holds a user id and nothing else; accountctl user find gives the id."
            )
        }
        if ids.isEmpty { throw CommandError(.usage, "\(path == "-" ? "standard input" : path) holds no user id") }
    }
}
