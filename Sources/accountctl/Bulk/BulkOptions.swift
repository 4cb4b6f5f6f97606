import ArgumentParser
import Settings

/// The options of a bulk run: the list, the result file, the rate and the failure limit.
struct BulkOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Request the deletion of every account in this list of user ids, one a line; - reads standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var file: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --file: the result file, which says what was done and from which a run continues. Default: the list's path and .results.ndjson.",
            valueName: "path"
        ),
        completion: .file()
    )
    var result: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --file: how many accounts in a time at most, such as 50/s. Default: no limit.",
            valueName: "rate"
        ),
        transform: BulkOptions.readRate
    )
    var rate: Rate?

    @Option(
        name: .long,
        help: ArgumentHelp("With --file: stop after this many failures. Default: 10.", valueName: "count")
    )
    var stopAfter: Int?

    func validate() throws {
        if file == nil {
            for (name, isGiven) in [
                ("--result", result != nil), ("--rate", rate != nil), ("--stop-after", stopAfter != nil),
            ] where isGiven { throw ValidationError("\(name) requires --file") }
        }
        if result == "-" {
            throw ValidationError("--result takes the path of a file, from which the run can continue later")
        }
        if let rate, rate.count < 1 { throw ValidationError("--rate must be at least one account, such as 1/s") }
        if let stopAfter, stopAfter < 1 { throw ValidationError("--stop-after must be at least 1") }
    }

    /// The path of the result file for a list.
    ///
    /// - Throws: ``CommandError`` for a list from standard input without `--result`.
    func resultPath(for list: String) throws -> String {
        if let result { return result }
        if list == "-" {
            throw CommandError(
                .usage,
                "a list from standard input needs --result PATH, so that the run can continue later"
            )
        }
        return list + ".results.ndjson"
    }
}

extension BulkOptions {
    fileprivate static func readRate(_ text: String) throws -> Rate {
        guard let rate = Rate(text) else { throw ValidationError("write a number and a time, such as 50/s") }
        return rate
    }
}
