//! Generates additional operations of the shop for measurements of larger adapters: five per kind of record.

use mcp_aql::SemanticCategory;
use mcp_aql::table::{DynamicOperation, DynamicParameter};
use serde_json::{Value, json};

/// The kinds of record, each with a field that the others do not have.
const KINDS: &str = "
    account iban, agreement party, alert severity, appointment host, approval approver,
    asset location, auction start_price, audit auditor, badge holder, banner slot, batch producer,
    benefit provider, bill payer, booking guest, branch manager, brand owner, budget currency,
    bundle discount, calendar time_zone, campaign channel, carrier tariff, catalog season,
    certificate issuer, charge payer, claim insurer, clearance customs_office, commission agent,
    complaint author, contract partner, coupon percentage, course teacher, credit debtor,
    deal stage, delivery_slot hour, deposit bank, device serial_number, document language,
    donation cause, driver license, employee department, event venue, expense receipt, fee tariff,
    fleet depot, forecast horizon, franchise region, gallery curator, grant sponsor,
    guarantee years, holiday country, incident severity, ingredient origin, inspection inspector,
    insurance insurer, interview candidate, inventory warehouse, invoice debtor, label format,
    lease landlord, ledger currency, lesson teacher, license holder, loan interest, machine hall,
    manual language, meeting room, membership tier, menu season, mission leader,
    newsletter audience, offer expiry, package weight, pallet dock, partner sector,
    patent inventor, payroll month, permit authority, phone_line operator, policy scope,
    poster size, price_list currency, project leader, promotion channel, questionnaire audience,
    quote buyer, receipt till, recipe chef, region manager, reminder hour, rental tenant,
    report period, reservation guest, route driver, salary grade, sample laboratory,
    seminar speaker, shelf aisle, shift foreman, showroom district, sponsor sector,
    subsidy authority, supplier sector, survey audience";

/// The values of the field `status`.
const STATUS: [&str; 3] = ["draft", "active", "closed"];

/// Returns the first `count` additional operations.
pub(super) fn operations(count: usize) -> Vec<DynamicOperation> {
    let kinds = KINDS.split(',').filter_map(|kind| kind.trim().split_once(' '));
    kinds.flat_map(|(kind, field)| of_kind(kind, field)).take(count).collect()
}

fn of_kind(kind: &str, field: &str) -> [DynamicOperation; 5] {
    let words = kind.replace('_', " ");
    let with_article = match words.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {words}"),
        false => format!("a {words}"),
    };
    let id = || {
        let description = format!("Identifier of the {words}.");
        DynamicParameter::required(format!("{kind}_id"), description, json!({ "type": "string" }))
    };
    let name = || json!({ "type": "string", "minLength": 1, "maxLength": 200 });
    let own = |description: &str| {
        let description = format!("{description}{} of the {words}.", field.replace('_', " "));
        DynamicParameter::optional(field, description, json!({ "type": "string" }))
    };
    let status = |description: &str| {
        let schema = json!({ "type": "string", "enum": STATUS });
        DynamicParameter::optional("status", description, schema)
    };
    let input = json!({
        "type": "object",
        "properties": {
            "name": name(), field: { "type": "string" }, "status": { "type": "string", "enum": STATUS },
        },
        "additionalProperties": false,
    });
    let operation = |verb: &str, category, description: String| {
        let name = match verb {
            "list" => format!("list_{kind}s"),
            _ => format!("{verb}_{kind}"),
        };
        DynamicOperation::new(name, category, description, |_, _| async { Ok(Value::Null) })
    };
    [
        operation("create", SemanticCategory::Create, format!("Create {with_article}."))
            .parameter(DynamicParameter::required("name", format!("Name of the {words}."), name()))
            .parameter(own("The "))
            .parameter(status("Draft if omitted.")),
        operation("get", SemanticCategory::Read, format!("Get {with_article}.")).parameter(id()),
        operation("list", SemanticCategory::Read, format!("List the {words}s, the newest first."))
            .parameter(status("Only with this status."))
            .parameter(own("Only with this ")),
        operation("update", SemanticCategory::Update, format!("Change {with_article}."))
            .parameter(id())
            .parameter(DynamicParameter::required("input", "Fields to change.", input)),
        operation("delete", SemanticCategory::Delete, format!("Delete {with_article}."))
            .parameter(id()),
    ]
}
