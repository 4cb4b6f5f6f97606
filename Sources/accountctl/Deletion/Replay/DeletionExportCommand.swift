import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes the list of erasures, which is to be kept outside the database.
struct DeletionExportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the list of erasures: what deletion replay repeats after a backup was restored.",
        discussion: """
            The list has one JSON object a line: first what the list is, then every deletion request, then an end line
            with a seal by the hash key over the whole list. deletion replay refuses a list that was changed or has no
            seal. A request has request (its id), state, subject (the keyed hash of its account's id) with hash_key,
            requested_at, run_after, finished_at, legal_deadline, receipt (its number), paused and held. No user id and
            nothing else about a person is in it.

            Write a list every day, and keep it where a restore of the database does not reach, together with a copy of
            keys.hash_file: without that key, the list is useless. Write each list to its own file, and none between a
            restore and its replay, since it would say what the restored database says.

            --since leaves out what ended before that time: give it if no older backup can be restored any more. Open
            requests are always in the list. To report the erasures of some time, take the lines with a receipt, as the
            last example does.

            EXIT CODES
              0 written; 2 the file exists already; 4 this role does not see all requests; 5 not the hash key that was
              used here; 6 a hash key that is new beside others, which may be the wrong file

            EXAMPLES
              accountctl deletion export --output erasures-$(date +%F).ndjson
              accountctl deletion export --since 40d > erasures.ndjson
              accountctl deletion export --since 31d | jq -c 'select(.receipt) | [.receipt, .requested_at, .finished_at]'
            """
    )

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Leave out what ended before then: a date, a moment or a duration back from now (40d).",
            valueName: "moment"
        )
    )
    var since: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, whole or not at all. Default, and with -: the list is printed.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String?

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let key = try context.neededHashKey()
        let since = try since.map { try DurationArgument.moment($0, "--since", now: context.now()) }
        guard let output, output != "-" else {
            try await write(to: context.output.sink, since, key, context)
            return .ok
        }
        let advice = "Give each list a name of its own, such as by its date."
        try await PrivateFile.write(output, replaces: false, ifThere: advice) { descriptor in
            try await write(to: DescriptorSink(descriptor: descriptor), since, key, context)
        }
        context.messages.note("The list is in \(output). Keep it where a restore of the database does not reach.")
        return .ok
    }

    private func write(
        to sink: any ByteSink,
        _ since: Date?,
        _ key: HashKey,
        _ context: CommandContext
    ) async throws {
        try await context.withConnection { connection in
            let database = try DatabaseIdentity.read(on: connection)
            let life = try DatabaseLife(of: database, on: connection)
            let now = try connection.one("select clock_timestamp()", as: Date.self)
            var seal = ErasureListFormat.seal(with: key)
            var text = ErasureListFormat.head(
                of: database,
                timeline: life.timeline,
                at: now,
                since: since,
                key: key
            )
            seal.add(text)
            var count = 0
            try ListedErasure.forEach(since: since, key: key, on: connection) { listed in
                let line = ErasureListFormat.line(of: listed)
                seal.add(line)
                text += line
                count += 1
                guard text.utf8.count >= Self.large else { return }
                try sink.write(text)
                text = ""
            }
            try sink.write(text + ErasureListFormat.end(count, sealed: seal))
        }
    }

    /// The size from which the buffer is written out, in bytes.
    private static let large = 32 << 10
}
