import ArgumentParser
import Terminal

/// The options every command takes.
struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The database: any libpq connection string. Default: the settings, then PG* variables.",
            valueName: "conninfo"
        )
    )
    var databaseURL: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The settings file. Default: ACCOUNTCTL_CONFIG, or those that accountctl config --help names.",
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The environment of the settings file, such as staging. Default: ACCOUNTCTL_ENVIRONMENT, or the file's.",
            valueName: "name"
        )
    )
    var environment: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Print JSON; optionally only some fields: --json id,state.", valueName: "fields")
    )
    var json: FieldSelection?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Print CSV with a line of names; optionally only some fields: --csv id,state.",
            valueName: "fields"
        )
    )
    var csv: FieldSelection?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Print tab-separated columns without names, for cut and awk; optionally only some fields.",
            valueName: "fields"
        )
    )
    var tsv: FieldSelection?

    @Option(
        name: .long,
        help: ArgumentHelp("The output format: table, json, ndjson, csv or tsv. Default: table.", valueName: "form")
    )
    var format: FormatName?

    @Flag(name: .long, help: "No colours; NO_COLOR and TERM=dumb do the same.")
    var noColor = false

    @Flag(name: .long, help: "Print long tables directly; otherwise $ACCOUNTCTL_PAGER, $PAGER or less shows them.")
    var noPager = false

    @Flag(name: .long, help: "Never ask: fail and name the option that answers.")
    var noInput = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The lowest level logged to standard error: trace, debug, info, notice, warning, error, critical. Default: \
            the setting log.level.
            """,
            valueName: "level"
        )
    )
    var logLevel: String?

    mutating func validate() throws {
        let selections = selections
        var asked = selections.map(\.option)
        if let format, !selections.contains(where: { $0.forms.contains(format) }) {
            asked.append("--format \(format.rawValue)")
        }
        guard asked.count > 1 else { return }
        var message = "\(Wording.list(asked)) cannot be combined"
        if let form = format?.rawValue, Self.fieldOptions.contains("--" + form), selections.count == 1,
            let names = selections.first?.selected.names
        {
            message += ": write --\(form) \(names.joined(separator: ","))"
        }
        throw ValidationError(message)
    }

    /// The output format that the options select.
    var outputFormat: OutputFormat {
        let selection = selections.first
        let fields = selection?.selected.names
        return switch format ?? selection?.forms.first ?? .table {
        case .ndjson: .ndjson(fields: fields)
        case .csv: .csv(fields: fields)
        case .tsv: .tsv(fields: fields)
        case .json: .json(fields: fields)
        case .table: .table
        }
    }

    /// The given options that may name fields; the first of `forms` is the format that the option selects on its own.
    private var selections: [(option: String, selected: FieldSelection, forms: [FormatName])] {
        let all: [(String, FieldSelection?, [FormatName])] = [
            ("--json", json, [.json, .ndjson]), ("--csv", csv, [.csv]), ("--tsv", tsv, [.tsv]),
        ]
        return all.compactMap { option, selected, forms in selected.map { (option, $0, forms) } }
    }
}

/// For ``PlainWords``.
extension GlobalOptions {
    /// Sets each property to its default value.
    mutating func setDefaults() {
        (databaseURL, config, environment, logLevel) = (nil, nil, nil, nil)
        (json, csv, tsv, format) = (nil, nil, nil, nil)
        (noColor, noPager, noInput) = (false, false, false)
    }

    /// Takes an option, given by the name of its property, and its value from the words; false leaves the line to the
    /// parser.
    mutating func takeOption(_ property: String, from words: inout PlainWords) -> Bool {
        switch CodingKeys(stringValue: property) {
        case .databaseURL?: words.take(&databaseURL)
        case .config?: words.take(&config)
        case .environment?: words.take(&environment)
        case .json?: words.take(&json)
        case .csv?: words.take(&csv)
        case .tsv?: words.take(&tsv)
        case .format?: words.take(&format)
        case .noColor?: words.take(&noColor)
        case .noPager?: words.take(&noPager)
        case .noInput?: words.take(&noInput)
        case .logLevel?: words.take(&logLevel)
        case nil: false
        }
    }
}

extension GlobalOptions {
    enum FormatName: String, CaseIterable, ExpressibleByArgument {
        case table, json, ndjson, csv, tsv

        // Written by hand, since the argument parser's default searches all conformances of the program twice.
        static var allValueStrings: [String] { allCases.map { $0.rawValue } }
        static var allValueDescriptions: [String: String] { [:] }
    }

    /// The options that may name fields.
    static let fieldOptions: Set<String> = ["--json", "--csv", "--tsv"]

    /// Whether a normalised argument is one of these options without any field names.
    static func isWithoutFields(_ word: String) -> Bool {
        word.hasSuffix("=" + FieldSelection.all) && fieldOptions.contains(String(word.prefix { $0 != "=" }))
    }

    /// The fields named by one of these options; the rewritten command line has `all` for an option that names none.
    struct FieldSelection: ExpressibleByArgument, Equatable {
        /// The value of an option that names no fields.
        static let all = "all"

        let names: [String]?

        init?(argument: String) {
            if argument == Self.all {
                names = nil
                return
            }
            let names = argument.split(separator: ",").map(String.init)
            guard !names.isEmpty else { return nil }
            self.names = names
        }
    }
}
