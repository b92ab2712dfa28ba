//! What will happen, and what stands in the way.

use std::process::ExitCode;

use postgres::types::Type;

use crate::address::Address;
use crate::arguments::Unit;
use crate::failure::Failure;
use crate::mark::PROGRAM;
use crate::session::{connect, schema};

/// Prints the report of a unit.
pub fn show(address: &Address, unit: &Unit) -> Result<ExitCode, Failure> {
    let mut client = connect(address, PROGRAM, |text| eprintln!("{text}"))?;
    let query = format!(
        "SELECT kind, object, reason, remedy, pg_size_pretty(bytes), lock
         FROM {}.snowflake_widen_report($1::regclass, $2, $3::text[]::name[], $4)",
        schema(&mut client)?
    );
    let [also, publications, triggers] = unit.named.parameters();
    let arguments = [(&unit.table as _, Type::TEXT), also, publications, triggers];
    let rows = client.query_typed(&query, &arguments)?;
    let mut obstacles = 0;
    for row in &rows {
        let text = |column: usize| row.get::<_, Option<String>>(column);
        let kind = text(0).unwrap_or_default();
        obstacles += u32::from(kind == "obstacle");
        println!("{kind}: {}", text(1).unwrap_or_default());
        for line in text(2).unwrap_or_default().lines() {
            println!("    {line}");
        }
        for (name, value) in [("remedy", text(3)), ("size", text(4)), ("lock", text(5))] {
            if let Some(value) = value {
                println!("    {name}: {value}");
            }
        }
    }
    match obstacles {
        0 => println!("nothing stands in the way"),
        1 => println!("1 obstacle"),
        _ => println!("{obstacles} obstacles"),
    }
    Ok(ExitCode::from(if obstacles == 0 { 0 } else { 3 }))
}
