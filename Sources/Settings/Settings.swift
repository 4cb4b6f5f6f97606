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
    /// The files that secrets were read from, by key; those of sealing and hash keys are ``keys``'.
    package let secretFiles: [(key: String, path: String)]

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

    /// The problems of the other environments that the settings file has sections of: their keys and forms, by the file
    /// alone.
    ///
    /// What they name is not looked at: files of another environment may well be on another machine.
    ///
    /// - Returns: those of values in their own sections, in the order of these.
    package static func problemsElsewhere(_ inputs: SettingsInputs) -> [SettingsProblem] {
        inputs.elsewhere.flatMap { name, places, inputs in
            check(inputs).problems.filter { places.contains($0.source) }.map { problem in
                SettingsProblem(
                    key: "environments.\(name).\(problem.key)",
                    source: problem.source,
                    message: problem.message,
                    stopsNothing: problem.stopsNothing
                )
            }
        }
        .inOrderOfSources
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
        environment.checkName(of: database, &reader)
        storage.checkProject(of: database, &reader)
        worker.checkLease(against: ("storage.timeout", storage.timeout), &reader)
        // Two calls: a client id that Apple rejected is tested before it is used again.
        worker.checkLease(against: ("apple.timeout", apple.timeout * 2), &reader)
        declarations = reader.declarations
        secretFiles = reader.secretFiles
    }
}
