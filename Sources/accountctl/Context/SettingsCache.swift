import Settings
import Synchronization

/// The settings of one run of the program.
///
/// They are read once: what comes from standard input can be read only once, and files may change in between.
final class SettingsCache: Sendable {
    /// The settings, and what is wrong with them.
    typealias Checked = (settings: Settings, problems: [SettingsProblem])

    private let known = Mutex<Checked?>(nil)
    private let warned = Mutex<Set<String>>([])

    /// Reads and checks the settings, the first time only.
    func checked(_ inputs: () throws -> SettingsInputs) throws -> Checked {
        try known.withLock { known in
            if let known { return known }
            let checked = Settings.check(try inputs())
            known = checked
            return checked
        }
    }

    /// Whether the settings, where they were read, count as production.
    var isProduction: Bool { known.withLock { $0?.settings.environment.isProduction ?? false } }

    /// Whether a warning has not been given yet in this run; a command may open several connections.
    func isNew(_ warning: String) -> Bool {
        warned.withLock { $0.insert(warning).inserted }
    }
}
