import Settings
import Synchronization

/// The settings of one run of the program.
///
/// The settings are read only once, because standard input cannot be read twice and files may change in between.
final class SettingsCache: Sendable {
    /// The settings with their problems.
    typealias Checked = (settings: Settings, problems: [SettingsProblem])

    private let known = Mutex<Checked?>(nil)
    private let warned = Mutex<Set<String>>([])

    /// Reads and checks the settings on the first call, and returns the same result afterwards.
    func checked(_ inputs: () throws -> SettingsInputs) throws -> Checked {
        try known.withLock { known in
            if let known { return known }
            let checked = Settings.check(try inputs())
            known = checked
            return checked
        }
    }

    /// Whether the settings count as production; false as long as they have not been read.
    var isProduction: Bool { known.withLock { $0?.settings.environment.isProduction ?? false } }

    /// Whether a warning is given for the first time in this run; a command may open several connections.
    func isNew(_ warning: String) -> Bool {
        warned.withLock { $0.insert(warning).inserted }
    }
}
