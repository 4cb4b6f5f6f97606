import ArgumentParser

/// Groups the commands that show and check the settings.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check and show the settings.",
        discussion: """
            Settings come from the settings file, then from variables (ACCOUNTCTL_ and the key in capitals), then from
            flags; the later one wins. The file is the one that --config or ACCOUNTCTL_CONFIG names, or else
            $XDG_CONFIG_HOME/accountctl/accountctl.conf, or else /etc/accountctl/accountctl.conf.

            EXAMPLES
              accountctl config check                     every problem at once, with key, source and expected form
              accountctl config show                      every key, its value and where that came from
              accountctl config show --environment staging
            """,
        subcommands: [ConfigCheckCommand.self, ConfigShowCommand.self]
    )
}
