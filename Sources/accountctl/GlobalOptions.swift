import ArgumentParser
import Terminal

/// The options every command takes.
struct GlobalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where the database is: any libpq connection string. Default: the settings, then PG* variables.",
            valueName: "conninfo"
        )
    )
    var databaseURL: String?

    @Option(name: .long, help: ArgumentHelp("The settings file.", valueName: "file"), completion: .file())
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The environment of the settings file to use, such as staging.", valueName: "name")
    )
    var environment: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Write JSON; optionally only some fields: --json id,state.", valueName: "fields")
    )
    var json: FieldSelection?

    @Option(
        name: .long,
        help: ArgumentHelp("The form of the output: table, json, ndjson, csv or tsv.", valueName: "form")
    )
    var format: FormatName?

    @Flag(name: .long, help: "No colours; NO_COLOR and TERM=dumb do the same.")
    var noColor = false

    @Flag(name: .long, help: "Write long tables as they are; otherwise $ACCOUNTCTL_PAGER, $PAGER or less shows them.")
    var noPager = false

    @Flag(name: .long, help: "Never ask: fail and name the flag that answers.")
    var noInput = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "What is logged to standard error: trace, debug, info, notice, warning, error.",
            valueName: "level"
        )
    )
    var logLevel: String?

    mutating func validate() throws {
        if let format, json != nil, format != .json, format != .ndjson {
            throw ValidationError(
                "--json and --format \(format.rawValue) exclude each other: fields are selected in json and ndjson only"
            )
        }
    }

    /// The form of the output that was asked for.
    var outputFormat: OutputFormat {
        switch format {
        case .ndjson: .ndjson(fields: json?.names)
        case .csv: .csv
        case .tsv: .tsv
        case .json: .json(fields: json?.names)
        case .table: .table
        case nil: json.map { .json(fields: $0.names) } ?? .table
        }
    }
}

extension GlobalOptions {
    enum FormatName: String, CaseIterable, ExpressibleByArgument {
        case table, json, ndjson, csv, tsv
    }

    /// The fields named after `--json`; the rewritten command line says `all` when none are.
    struct FieldSelection: ExpressibleByArgument, Equatable {
        /// What a bare `--json` stands for.
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
