import ArgumentParser

/// The commands under the root, in the order the help shows them.
///
/// A new command is one line here and one file of its own.
enum CommandList {
    static let running: [any ParsableCommand.Type] = [
        DoctorCommand.self,
        ConfigCommand.self,
        JobsCommand.self,
        MigrateCommand.self,
        KeysCommand.self,
        WorkerCommand.self,
        ServeCommand.self,
        AppleCommand.self,
    ]

    static let accounts: [any ParsableCommand.Type] = [
        UserCommand.self,
        AuditCommand.self,
        DeletionCommand.self, AvatarsCommand.self,
        RelayCommand.self,
    ]

    static let help: [any ParsableCommand.Type] = [
        CompletionCommand.self,
        ManualCommand.self,
    ]
}
