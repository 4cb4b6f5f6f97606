import ObjectStorage
import Settings
import Terminal

extension ServicesDoctor {
    /// Checks that Storage accepts the key and has the buckets that deletions need.
    func storage() async throws -> [DoctorFinding] {
        let client: StorageClient
        do {
            guard let configured = try parts.storageClient() else { return [] }
            client = configured
        } catch {
            return [.unusable("storage.key", error, why: "No file can be deleted.")]
        }
        switch try await client.buckets() {
        case .done(let buckets):
            return [.ok("storage.reachable", "Storage answers and accepts the key")] + compare(Set(buckets.map(\.id)))
        case .gone(let refusal), .misconfigured(let refusal):
            return [
                DoctorFinding(
                    .error,
                    "storage.key",
                    "Storage refuses: \(refusal)",
                    why: "Deletions of accounts that own files wait.",
                    todo: "Compare storage.url and the key with the project's API settings." + DoctorFinding.thenRestart
                )
            ]
        case .later(let delay):
            return [
                DoctorFinding(
                    .warning,
                    "storage.reachable",
                    "\(delay)",
                    why: "Whether Storage accepts the key was not checked. While it gives no answer, deletions of "
                        + "accounts that own files wait.",
                    todo: Self.advice(
                        for: parts.settings.storage.url ?? "it",
                        outages: "Storage's own log, or \(Self.outagesOfSupabase) if Supabase hosts it,"
                    ) + " Storage's address ends in /storage/v1 on Supabase."
                )
            ]
        }
    }

    /// Reports buckets that are configured but missing, and buckets about which no setting decides.
    private func compare(_ found: Set<String>) -> [DoctorFinding] {
        let deletion = parts.settings.deletion
        let decided = Set(["avatars"] + deletion.buckets)
        let expected = hasProfiles ? decided : Set(deletion.buckets)
        var findings = expected.subtracting(found).sorted().map { bucket in
            DoctorFinding(
                .warning,
                "storage.bucket",
                "there is no bucket \(bucket)",
                why: "Files of accounts are looked for in it; perhaps storage.url is another project's.",
                todo: bucket == "avatars"
                    ? "accountctl migrate up creates it, but only once; if it was deleted since, create it as a "
                        + "private bucket under Storage in the project."
                    : "Correct deletion.buckets, or create the bucket."
            )
        }
        let undecided = found.subtracting(decided).subtracting(deletion.keptBuckets).sorted()
        if !undecided.isEmpty {
            findings.append(
                DoctorFinding(
                    .error,
                    "storage.undecided",
                    "no setting says what to do with the files in \(Wording.list(undecided))",
                    why: "An account that owns files there is not erased until a setting does.",
                    todo: "Name each in deletion.buckets (delete them) or deletion.kept_buckets (keep them)."
                        + DoctorFinding.thenRestart
                )
            )
        }
        return findings
    }
}
