extension Benchmark {
    static let deletionRate = Benchmark(
        name: "deletion.rate",
        summary: "full deletions by `worker --until-idle`, 2,000 accounts with 3 avatars each, against bare SQL"
    ) {
        let rounds = 5
        let accounts = Double(DeletionLoad.accounts)
        return try await DeletionLoad.with { load in
            let program = try Program.accountctl
            var rates: [Double] = []
            var floors: [Double] = []
            for _ in 0..<rounds {
                floors.append(accounts / (try await load.deleteBySQL(try await load.fill())))
                try await load.ask()
                let seconds = try await program.time(["worker", "--until-idle", "--config", load.settingsFile])
                try await load.check()
                rates.append(accounts / seconds)
            }
            return [
                Figure(
                    name: "deletion.rate",
                    unit: "deletions/s",
                    goal: "≥ 0.5 × floor, ≥ 200/s",
                    values: rates,
                    floors: floors
                )
            ]
        }
    }
}
