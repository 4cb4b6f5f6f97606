import Testing

@testable import Migrations

/// A published migration never changes its text, unless the new text names the old one's checksum.
///
/// Otherwise a database that has applied the old text could not be migrated any more.
@Suite struct PublishedMigrationsTests {
    /// The published texts, by the checksums that databases record.
    private let published: [(fileName: String, checksum: String)] = [
        ("0001_foundation.sql", "57482ca534faec8027a4509155d05e63261e7ec697bc6b744a3ccb6df73cf198"),
        ("0002_jobs.sql", "0bda35e534f7e66908faf02579c5828b17a3187e08db43300a041464b8cd0dc9"),
        ("0002_jobs.sql", "6bb4c40de9581a26c78741376f48cac8d6543a6b6c4621f9de11d540ebd24194"),
        ("0003_deletion.sql", "ffc63a8496016c28003da48233b63978ec782a12af9ab39da35f5e30a09461b6"),
        ("0004_apple_credentials.sql", "f590ec3e40365211a3108dc702b06b3380e3a1aafa6a1d6b5c9fc7e6d85a11ba"),
        ("0005_rpc.sql", "398999a378020dead5a4916c5b114c7411a92c015763e7bdf72301446386f181"),
        ("0006_mail.sql", "a0ee27f2c276d944df1fb0b1d6a682d22395686f7a89e907435e2ce2a339cd3f"),
        ("0008_credential_life.sql", "12b941ea72799ef02904dccfadaad6238aad93a3c5e2677281f4c5117fd63547"),
        ("0010_profiles.sql", "07e807240d7baececf753e2bacd30c47f2aefea4d5b9f0dcdf8befca16a8c133"),
        ("0010_profiles.sql", "271f0f8f6749228d48f9dc62cc57a7cbb5c4846150b65c8b23a3a96126cd1358"),
        ("0010_profiles.sql", "1f98a3c0da990a52b87d7a2376670b64cb4de25ba05cc112aee0d44288925de6"),
        ("0010_profiles.sql", "657832f9fbe6b77000863d1148a2f830832024f9a02cc8004915f881d22cb1d6"),
        ("0011_avatars.sql", "d19c267da0199f6178d5100cb01392730d1a27546b447cac75aeb8273adfa04c"),
        ("0012_profiles_username.sql", "f3dad8c8c79d3b191f4bf856352a6fdc3fc7cfcb867450084672c9d1d8e22743"),
        ("0012_profiles_username.sql", "b8a50fb9e8ad3682afe4e75db013573a5a4df01010800e0f31b06f4917637470"),
        ("0013_profiles_user_key.sql", "ea99acbb55989b024f956208ca480f5a28a41a050e8ad7f4cf3717a7c08b29b0"),
        ("0014_profiles_validate.sql", "a0e606fd2cf6e2af0a65dc67811cc2044eec5990211f80f0f2d604659cf95ba9"),
        ("0014_profiles_validate.sql", "b005f29edc8e0f72e3f75a8249d70b0c45f00e0df49b99c0bc40d5e47d07a385"),
        ("0015_profiles_names.sql", "4d83794713a1d5e503a3e63c97903ff4bab5ef5174312a99616bf243378abdee"),
        ("0015_profiles_names.sql", "fb91c51fc7af51e6612ea815439b2668c979e2d045ad8349736d93f90952ace5"),
        ("0016_job_limits_by_hand.sql", "af1c79e6a0d15c2d33f0b6039ab670115696dcc57873bd2383b695ec1bbbaa8e"),
        ("0017_job_history_time.sql", "c0fe12e70e0da973eddfce54a03080209a0f9850a49d8ecc9fe744e9d0eaef52"),
        ("0018_apple_rejections.sql", "4681a3458ef728760a2edb5a409aefe3d2d42b44d3541677906dcc622f5b1791"),
        ("0019_apple_grants.sql", "94a65a82572a85bd1314d649b8bce9491b995980911b51ad98158138040e86b2"),
        ("0020_deletion_requests.sql", "e5c3325a4352acf7866eccf082bd857b17ec1ba967688467db2e0e9549cb848b"),
        ("0021_pruning.sql", "130cc75df4cdda3fb43b86293f2ae02cc88a0555286898d6559fb3d882ad89b5"),
        ("0022_credential_patience.sql", "764b9e0914fd5b4ccba06812aa90eb65f952b4d1fc421314c543c11cc3920389"),
        ("0025_hash_key_canaries.sql", "ba818793fe770264aedffa91113cabb7d4e344bf1ddec21c7e1eac16d7ad2d00"),
        ("0028_job_inputs.sql", "c396846246239dfa8a320f5fa0c85914829f14f3090ec768795a9d1a94788860"),
        ("0029_job_waiting.sql", "7fb2b5ea21b5a54ce9c28ce63c66b74049f8a7c483c1880f339ced09f0d0b85a"),
        ("0030_status_token_pruning.sql", "ba0ed1d8ffe0a56853b5e93740a0010fa8c97436d28fddd73be28597e1abf448"),
        ("0032_relay_rule.sql", "d546eab9b6db0a02041e59639810af5f5b5bfe6fb285364824d3f307d8b6234b"),
        ("0033_operator_role.sql", "a01a663c97623bbe8ae599821373e404d6ba8ea862c90360989486a47e0b768f"),
        ("0034_deletion_flushes.sql", "9382d8b79f046c4e731c7f3ebf8993ab1f5bbbf6dd093cf06df85d6c19d4911a"),
        ("0036_relay_rule_edges.sql", "d768dbefe91f5a84c23ffe17eaffacde850e37ad997d45832144aea072992e48"),
        ("0037_job_writes.sql", "19fda133e892dd69bc75d5ff5745b0bf3fc89b337244a07ce8c4247ea70399d8"),
        ("0038_job_books.sql", "5ef6d564757d086675e500ee6d6b2abf054fc3a903f76af5b3e2224f0bb5b349"),
        ("0039_job_indexes.sql", "327196d0aa2b4933ba12e9a11ec517965bebae3c6fe8db2740babfd8741f7724"),
        ("0040_device_reports.sql", "b19f4df7e22a8218b0b82dfbb8b028143b366d870d03f3237821998c81d98d79"),
        ("0041_apple_grants_by_client.sql", "1e9f14aa60a43dd9d85eb1d1e4ee8df3fcff8bf02bc59587d0dffe3c0b0e1104"),
        ("0042_can_send_address.sql", "98f90a8ea62f8e756cb57e7d1afe4556e7e1ab14c79120675c7d0eb7048f5826"),
        ("0043_request_refusals.sql", "d007b826a99b3c27e5e2d6712fb137a5fc730c2bee95c3164cfd6cdeb929f9c2"),
        ("0044_deletion_accounts.sql", "abbc0d6642a12f2a8002916d0a1be530195aa2c59f5298ee1e7a5947cee44d0c"),
        ("0046_apple_failures.sql", "b8fef70563075eb38e8bc2285c666cb30037773e2470009b0c9d7ccbcc949f8e"),
        ("0047_inbox_tries.sql", "0f46c013464bd3c1da9e573b91869e4475a6cf6734adedd94b2f7658b6acad57"),
        ("0048_history_published.sql", "4f58ca60d946288833a8d6abda4ea50af3268d3767cffc87fb5db75c8f8e7afd"),
        ("0049_apple_rejections_by_key.sql", "3c5b3a65b7b2af6a8879e6079ede88df420796ff8f76e230d2abee939e024d34"),
        ("0053_deletion_status_apple.sql", "bd9c9d18d7745f843f66d0025f500a82f0b3367e66845060d9da365ed5cff3be"),
        ("0054_definer_paths.sql", "f35a1520125dc84bed3d455a318c2d44d9563f24ba1caca18f8d9096f407822a"),
        ("0055_platform_columns.sql", "2cf26cbd49f89324d7f68dbf3f96501f192975dc17307bf3550013d99e7c0a6f"),
        ("0056_profiles_sign_up.sql", "31540c0ae9260f3f4a07ab2eeaf78322582b70c9f96a7a6342c9a418b7850b00"),
        ("0057_job_running.sql", "8549669131ef1cbf2616aa28be6385d41eda87c468fb2325e78b33d0310b42c5"),
        ("0058_relay_reports_log.sql", "06fbf24ec4e74100c80e913fbb2f7e1efdf6189f6ab47d16b942a2c101966564"),
        ("0059_profiles_sign_up_mark.sql", "5cc57c4628e6eec489b4867f45f2b5b00333285f89723525d7193204392324f3"),
        ("0060_inner_paths.sql", "11b5f0f5806dad4711cb164cd6da44002d21a6557b891d27e82b1a26d15c97c3"),
        ("0061_own_deletion.sql", "e0297b77adb7bfca966fbbcfdbb7a68fbbc2ca59444972b86e834b9a7f8b2e7d"),
        ("0062_deletion_status_proof.sql", "87997925872d189f9170e4322dee1356f5494d1788a32790ed46d490418d575c"),
        ("0063_apple_step_begun.sql", "c5416d7fab1ef10997ea045ef5d9d4b7ceee7cebca0eeab03b1ae042a5e40b53"),
        ("0064_job_cancel_reason.sql", "bff459a49c9f5bd2d22376042719cb382270dc1637e5e42772aba4c45301c6dc"),
        ("0065_deletion_status_left.sql", "dfaf33e3aa958744fd0b91df31b8d9f77178ae0669875c249e66cbb559a86c54"),
        ("0067_cancelling_sessions.sql", "c9ce9c509d42b8e72b1042dc857396b3fad640e4e7d1d0751c5eba869bee2ef0"),
        ("0068_worker_life.sql", "b3def7e232cb42cbfa35e8bbc210958fad3e7acff6f720789465d280a529a724"),
        ("0069_history_progress.sql", "0d73abcc53ee01e67391f9a39c2ad8499a274a332f1c32e0d4bc2a4f81887db8"),
        ("0070_oauth_clients.sql", "74928a75412f21888b78f4916bff67c361efaf598b8d0514e66f555af05dd26a"),
        ("0071_cancelled_requests.sql", "53d9aa4f8d21456b4f37bb2e6078780f6c385cd8369bb0aa96b3aa930fd8b20e"),
        ("0072_report_answers.sql", "715fab099229a4352faa51c3a23e74b676b1a457944cd0d933cd957eeb9fe7fd"),
        ("0073_transfer_subs.sql", "ec9310bb43fbb25a2be520eaf058e6f7888d1c2fbe631e21e0548cae197e2272"),
        ("0074_opening_checked.sql", "158bbad428ff4c8a56546af44fa535d6f07281d5bdc53863047f99010fecd68b"),
        ("0075_code_sessions.sql", "cab4b3035cbec33f465c551f6662ccade74a8f106a1414619a78e36f80f7f478"),
        ("0076_log_programs.sql", "845d8531ade8946ca4bdc78e7580587725dc887650e110fa3629958da912ae24"),
        ("0077_given_up_identifiers.sql", "138337921456039c7facccf0cd7173227a508a59ec4a68f7ce9d72d86eb0a623"),
        ("0078_deletion_status_times.sql", "cbb66e0e2db6f13654fdc2a12859d203cfbbc3fb36aae2e9c66f4b2c4ba4dde0"),
        ("0079_accounts_created_later.sql", "7d034566609c84637006d9857382c7446f6a9e21b7e63d404db8e71bb455ed9c"),
        ("0080_token_teams.sql", "ba37e18fc8f8cbaa2832da42e3ab1ab59d5b831d67a189bc70c0eb9840ebbe88"),
    ]

    @Test func aDatabaseWithFormerTextsCanBeMigrated() throws {
        let known = Dictionary(uniqueKeysWithValues: try MigrationSet.embedded().migrations.map { ($0.fileName, $0) })
        for (fileName, checksum) in published {
            let migration = try #require(known[fileName], "\(fileName) is gone")
            #expect(
                migration.checksum == checksum || migration.replaced.contains(checksum),
                "\(fileName) was applied with another text"
            )
        }
    }
}
