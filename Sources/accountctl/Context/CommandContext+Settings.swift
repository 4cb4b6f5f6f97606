import Logging
import Sealing
import Settings
import Telemetry
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CommandContext {
    /// The settings of every part, checked together.
    ///
    /// - Throws: `SettingsError` with all problems, ``CommandError`` when the settings file cannot be read.
    func settings() throws -> Settings {
        let (settings, problems) = try checkedSettings()
        try SettingsError.check(problems)
        return settings
    }

    /// The settings, of which only those that a command needs have to be right.
    ///
    /// Which environment this is has to be known for each.
    ///
    /// - Parameter sections: what the keys that have to be right begin with, such as `database.`.
    /// - Returns: All settings; those that are wrong and not needed have their defaults.
    /// - Throws: `SettingsError` with the problems that matter.
    func settings(needing sections: [String]) throws -> Settings {
        let (settings, problems) = try checkedSettings()
        let needed = problems.filter { problem in
            problem.leavesEnvironmentInDoubt || sections.contains { problem.key.hasPrefix($0) }
        }
        try SettingsError.check(needed)
        return settings
    }

    /// The settings with what is wrong with them, read once for the whole run.
    func checkedSettings() throws -> SettingsCache.Checked {
        try cache.checked(settingsInputs)
    }

    /// What the settings are read from: flags, variables, the settings file.
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

    /// A logger that writes to standard error as the settings say.
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
                // When standard error is gone there is nobody left to tell.
                try? sink.write(line)
            }
        }
    }
}

extension CommandContext {
    /// A logger for a command that tells by its output what is logged elsewhere: it writes for who asks for details.
    func detailLogger(_ settings: Settings) -> Logger {
        var logger = self.logger(settings)
        if logger.logLevel > .debug { logger.logLevel = .critical }
        return logger
    }
}

/// Finds the settings file: the one that was named, else the user's, else the machine's.
struct SettingsFileSearch {
    let environment: [String: String]

    /// The places looked at when none was named.
    var standardPaths: [String] {
        let user =
            environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? environment["HOME"].map { $0 + "/.config" }
        return [user.map { $0 + "/accountctl/accountctl.conf" }, "/etc/accountctl/accountctl.conf"].compactMap { $0 }
    }

    /// Reads the file; nil when none was named and none lies in the standard places.
    func load(named flag: String?) throws -> (text: String, path: String)? {
        if flag?.isEmpty == true { throw CommandError(.usage, "--config is empty: name a settings file") }
        guard let file = path(named: flag) else { return nil }
        return (try read(file), file)
    }

    /// The file that is read; nil when none was named and none lies in the standard places.
    func path(named flag: String?) -> String? {
        let variable = environment["ACCOUNTCTL_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        return flag ?? variable ?? standardPaths.first { FileManager.default.fileExists(atPath: $0) }
    }

    private func read(_ path: String) throws -> String {
        do throws(SecretFile.Failure) {
            // By its descriptor, which serves a pipe as well. Standard input is left to secrets: `-` is a file's name
            // here.
            return try SecretFile.readText(path == "-" ? "./-" : path, limit: Self.longest).reveal()
        } catch {
            throw CommandError(.usage, "cannot read the settings file \(path): \(error.reason)")
        }
    }

    /// The most bytes of a settings file.
    private static let longest = 1 << 20
}

extension SettingsError: ReportableError {
    var report: ErrorReport {
        ErrorReport(.usage, description, hint: "Check them: accountctl config check")
    }
}
