import AccountLifecycle

/// The terms of the command line.
extension UserFindCommand {
    /// How the terms are compared.
    var comparison: LookupComparison { contains ? .contains : prefix ? .prefix : .exact }

    /// The terms, one per line on standard input, and the position of each among all words and lines.
    ///
    /// - Throws: ``CommandError`` that names the first line that is not a term.
    func numbered() throws -> (terms: [LookupTerm], numbers: [Int]) {
        var (found, numbers): ([LookupTerm], [Int]) = ([], [])
        var last = 0
        for word in terms {
            guard word == "-" else {
                last += 1
                found.append(try LookupTerm.typed(word, as: by, compared: comparison))
                numbers.append(last)
                continue
            }
            let before = last
            try InputLines.forEach(in: "-") { number, line, _ in
                last = before + number
                if line.allSatisfy(\.isWhitespace) { return }
                do {
                    found.append(try LookupTerm.typed(line, as: by, compared: comparison))
                    numbers.append(last)
                } catch let error as CommandError {
                    throw CommandError(error.status, "line \(number): \(error.message)", hint: "Nothing was looked up.")
                }
            }
        }
        return (found, numbers)
    }
}
