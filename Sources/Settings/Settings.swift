/// The settings of every part, read and checked together.
package struct Settings: Sendable {
    /// The name of the environment, nil when none was chosen.
    package let environmentName: String?
    package let environment: EnvironmentSettings
    package let database: DatabaseSettings
    package let worker: WorkerSettings
    package let deletion: DeletionSettings
    package let apple: AppleSettings
    package let storage: StorageSettings
    package let supabase: SupabaseSettings
    package let keys: KeySettings
    package let mail: MailSettings
    package let listeners: ListenerSettings
    package let log: LogSettings
    /// Every key with the value in use and where it came from.
    package let declarations: [SettingsReader.Declaration]

    /// Reads and checks everything.
    ///
    /// - Throws: ``SettingsError`` with all problems, unless they stop nothing.
    package init(_ inputs: SettingsInputs) throws {
        let (settings, problems) = Self.check(inputs)
        try SettingsError.check(problems)
        self = settings
    }

    /// Reads everything and returns it with the problems, for showing settings that are not right yet.
    package static func check(_ inputs: SettingsInputs) -> (settings: Settings, problems: [SettingsProblem]) {
        var reader = SettingsReader(inputs: inputs)
        let settings = Settings(&reader, environmentName: inputs.environment)
        return (settings, reader.finish())
    }

    private init(_ reader: inout SettingsReader, environmentName: String?) {
        self.environmentName = environmentName
        environment = EnvironmentSettings(&reader)
        database = DatabaseSettings(&reader)
        worker = WorkerSettings(&reader)
        deletion = DeletionSettings(&reader)
        apple = AppleSettings(&reader)
        storage = StorageSettings(&reader)
        supabase = SupabaseSettings(&reader)
        keys = KeySettings(&reader)
        mail = MailSettings(&reader)
        listeners = ListenerSettings(&reader)
        log = LogSettings(&reader)
        storage.checkProject(of: database, &reader)
        worker.checkLease(against: ("storage.timeout", storage.timeout), &reader)
        // Two calls: a client id that Apple rejected is tested before it is used again.
        worker.checkLease(against: ("apple.timeout", apple.timeout * 2), &reader)
        declarations = reader.declarations
    }
}
