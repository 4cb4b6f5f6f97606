import Settings

/// The manual page of one command, in the macros of man(7).
struct ManualPage {
    let command: CommandDescription
    /// Names of the options that every command takes.
    let globalOptions: Set<String>
    /// The declared settings; the page of the program lists them.
    let settings: [SettingsReader.Declaration]

    /// The name of the page, without its section: `accountctl-user-find`.
    var name: String { command.path.joined(separator: "-") }

    private var isRoot: Bool { command.path.count == 1 }

    var text: String {
        let help = HelpText(abstract: command.abstract ?? "", discussion: command.discussion ?? "")
        var page = Roff()
        page.macro(".TH \"\(name.uppercased())\" 1 \"\" \"\(Version.text)\" \"\(Version.text)\"")
        page.section("NAME")
        page.text("\(name) - \(help.abstract)")
        page.section("SYNOPSIS")
        page.macro(".B \(Roff.escaped(command.path.joined(separator: " ")))")
        page.macro(synopsis)
        if !help.paragraphs.isEmpty {
            page.section("DESCRIPTION")
            for paragraph in help.paragraphs { page.paragraph(paragraph) }
        }
        if !command.children.isEmpty {
            page.section("COMMANDS")
            for child in command.children { page.item(child.commandName, child.abstract ?? "") }
        }
        add("ARGUMENTS", arguments.filter { $0.kind == .positional }, to: &page)
        let options = arguments.filter { $0.kind != .positional }
        add("OPTIONS", options.filter { !isGlobal($0) }, to: &page)
        add("OPTIONS OF EVERY COMMAND", options.filter { isGlobal($0) }, to: &page)
        for section in help.sections { add(section, to: &page) }
        let type = CommandPath(root: Accountctl.self, words: Array(command.path.dropFirst())).last
        if let fields = HelpText.fields(of: type) { add(fields, to: &page) }
        if !help.examples.isEmpty {
            page.section("EXAMPLES")
            page.verbatim(help.examples)
        }
        if isRoot { addSurroundings(to: &page) }
        addRelated(to: &page)
        return page.text
    }

    private var arguments: [CommandDescription.Argument] {
        (command.arguments ?? []).filter { $0.shouldDisplay }
    }

    private func isGlobal(_ argument: CommandDescription.Argument) -> Bool {
        argument.preferredName.map { globalOptions.contains($0.text) } ?? false
    }

    /// The text after the command's name: its own options, then its arguments.
    private var synopsis: String {
        if !command.children.isEmpty { return "\\fIcommand\\fP ..." }
        var parts = arguments.filter { $0.kind != .positional && !isGlobal($0) }.map { argument in
            let text = Self.shown(argument, names: [argument.preferredName].compactMap { $0 })
            return argument.isOptional || argument.kind == .flag ? "[\(text)]" : text
        }
        parts.append("[\\fIoptions\\fP]")
        parts += arguments.filter { $0.kind == .positional }.map { argument in
            let text = Self.value(argument) + (argument.isRepeating ? " ..." : "")
            return argument.isOptional ? "[\(text)]" : text
        }
        return parts.joined(separator: "\n")
    }

    private static func shown(
        _ argument: CommandDescription.Argument,
        names: [CommandDescription.Argument.Name]
    ) -> String {
        let typed = names.map { "\\fB\(Roff.escaped($0.text))\\fP" }.joined(separator: ", ")
        return argument.kind == .option ? typed + " " + value(argument) : typed
    }

    private static func value(_ argument: CommandDescription.Argument) -> String {
        "\\fI\(Roff.escaped(argument.valueName ?? "value"))\\fP"
    }

    private func add(_ title: String, _ arguments: [CommandDescription.Argument], to page: inout Roff) {
        if arguments.isEmpty { return }
        page.section(title)
        for argument in arguments {
            let head =
                argument.kind == .positional
                ? Self.value(argument) : Self.shown(argument, names: argument.names ?? [])
            var meaning = argument.abstract ?? ""
            if let standard = argument.defaultValue { meaning += " Default: \(standard)." }
            page.item(escaped: head, meaning)
        }
    }

    private func add(_ section: HelpText.Section, to page: inout Roff) {
        page.section(section.title == "EXIT CODES" ? "EXIT STATUS" : section.title)
        for line in section.lines {
            let row = line.drop { $0 == " " }
            guard let gap = row.ranges(of: "  ").first else {
                page.text(String(row))
                continue
            }
            page.item(String(row[..<gap.lowerBound]), String(row[gap.upperBound...].drop { $0 == " " }))
        }
    }

    private func addSurroundings(to page: inout Roff) {
        page.section("SETTINGS")
        page.paragraph(
            "Settings come from a file, then variables, then options; the later one wins. The variable of deletion.grace is "
                + "ACCOUNTCTL_DELETION_GRACE. accountctl config check reports every problem at once."
        )
        for setting in settings {
            let standard = setting.standard.map { $0.isEmpty ? "" : " Default: \($0)." } ?? ""
            page.item(setting.key, "\(setting.help) Form: \(setting.form).\(standard)")
        }
        page.section("ENVIRONMENT")
        for (name, meaning) in [
            ("ACCOUNTCTL_CONFIG", "The settings file."),
            ("ACCOUNTCTL_ENVIRONMENT", "The environment of the settings file to use."),
            ("ACCOUNTCTL_OPERATOR", "Who acts, for the operators' log; --as overrides it."),
            ("PGHOST, PGPORT, PGUSER, PGDATABASE, PGSERVICE, PGPASSFILE", "As for every program that uses libpq."),
            ("ACCOUNTCTL_PAGER, PAGER", "The program that shows tables longer than the screen; empty or cat for none."),
            ("NO_COLOR, FORCE_COLOR, TERM, COLUMNS", "Whether colours are used, and how wide the terminal is."),
        ] { page.item(name, meaning) }
        page.section("FILES")
        page.item("~/.config/accountctl/accountctl.conf", "Your settings (XDG_CONFIG_HOME is honoured).")
        page.item("/etc/accountctl/accountctl.conf", "The machine's settings, if you have none of your own.")
    }

    private func addRelated(to page: inout Roff) {
        var related = command.children.map { $0.path.joined(separator: "-") }
        if !isRoot { related.insert(command.path.dropLast().joined(separator: "-"), at: 0) }
        if related.isEmpty { return }
        page.section("SEE ALSO")
        for (index, name) in related.enumerated() {
            page.macro(".BR \(Roff.escaped(name)) (1)" + (index == related.count - 1 ? "" : ","))
        }
    }
}
