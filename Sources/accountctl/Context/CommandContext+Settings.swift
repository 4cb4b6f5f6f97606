import Logging
import Sealing
import Settings
import Telemetry
import Terminal

extension CommandContext {
    /// The settings of every part, checked together.
    ///
    /// - Throws: `SettingsError` with all problems, ``CommandError`` when the settings file cannot be read.
    func settings() throws -> Settings {
        let (settings, problems) = try checkedSettings()
        try SettingsError.check(problems)
        return settings
    }

    /// The settings, of which only those that a command needs must be valid.
    ///
    /// Every command needs to know which environment this is.
    ///
    /// - Parameter sections: prefixes of the keys that must be valid, such as `database.`.
    /// - Returns: All settings; an invalid one that is not needed has its default.
    /// - Throws: `SettingsError` with the problems that matter.
    func settings(needing sections: [String]) throws -> Settings {
        let (settings, problems) = try checkedSettings()
        let needed = problems.filter { problem in
            problem.leavesEnvironmentInDoubt || sections.contains { problem.key.hasPrefix($0) }
        }
        try SettingsError.check(needed)
        return settings
    }

    /// The settings and their problems, read once per run.
    func checkedSettings() throws -> SettingsCache.Checked {
        try cache.checked(settingsInputs)
    }

    /// The sources of the settings: flags, environment variables and the settings file.
    func settingsInputs() throws -> SettingsInputs {
        var flags: [String: (value: String, flag: String)] = [:]
        if let url = global.databaseURL { flags["database.url"] = (url, "--database-url") }
        if let level = global.logLevel { flags["log.level"] = (level, "--log-level") }
        return SettingsInputs(
            file: try SettingsFileSearch(environment: environment).load(named: global.config),
            variables: environment,
            flags: flags,
            environment: global.environment,
            readFile: { try SecretFile.readText($0).reveal() }
        )
    }

    /// Tells if no settings file was read, because none is named and there is none at the standard paths.
    func tellOfMissingFile() {
        let search = SettingsFileSearch(environment: environment)
        guard search.path(named: global.config) == nil else { return }
        let paths = Wording.list(search.standardPaths, "or")
        messages.note("No settings file was read: none is named, nor is there one at \(paths).")
    }

    /// A logger that writes to standard error, with the level and format of the settings.
    func logger(_ settings: Settings) -> Logger {
        let asJSON =
            switch settings.log.format {
            case .json: true
            case .text: false
            case .auto: !messages.style.isTerminal
            }
        let level = Logger.Level(rawValue: settings.log.level.rawValue) ?? .info
        let sink = DescriptorSink(descriptor: 2)
        return Logger(label: "accountctl") { label in
            LineLogHandler(
                label: label,
                format: asJSON ? .json : .text,
                level: level,
                rewrite: FollowUp(global) { [cache] in cache.isProduction }.completed
            ) { line in
                // A failure to write to standard error cannot be reported anywhere.
                try? sink.write(line)
            }
        }
    }

    /// A logger for a command whose output already reports what would be logged: unless debug logging is on, only
    /// critical messages are logged.
    func detailLogger(_ settings: Settings) -> Logger {
        var logger = self.logger(settings)
        if logger.logLevel > .debug { logger.logLevel = .critical }
        return logger
    }
}
