import AccountLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file of a sending team, read from standard input, one account per line; blank lines are skipped.
struct TransferFile {
    private(set) var lines: [TeamTransfer.Line] = []

    /// Reads the file.
    ///
    /// - Throws: ``CommandError`` that names every invalid line.
    init() throws {
        var problems = LineProblems()
        try InputLines.forEach(in: "-", collecting: &problems) { text in
            if text.allSatisfy(\.isWhitespace) { return }
            guard let line = try? JSONDecoder().decode(TeamTransfer.Line.self, from: Data(text.utf8)) else {
                throw LineProblem("it is not an object with user_id and transfer_sub")
            }
            if line.transferIdentifier.isEmpty { throw LineProblem("its transfer_sub is empty") }
            // The database could not keep it, and would not name the line.
            if line.transferIdentifier.utf8.contains(0) { throw LineProblem("its transfer_sub has a NUL in it") }
            lines.append(line)
        }
        if let text = problems.text { throw CommandError(.usage, text, hint: "Nothing was done.") }
        if lines.isEmpty { throw CommandError(.usage, "standard input holds no account") }
    }
}
